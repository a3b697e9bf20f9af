"""How much CPU time a control group grants, read from its files' text."""

comptime _MAX_DIGITS = 18


@fieldwise_init
struct CpuQuota(Equatable, ImplicitlyCopyable):
    """CPU time of a control group: so much in each period."""

    var quota_us: Int
    """Microseconds of CPU time; -1 for no bound."""
    var period_us: Int
    """Length of a period in microseconds; more than 0."""

    comptime UNBOUNDED = CpuQuota(-1, 100_000)
    """No bound at all."""

    def cpu_count(self) -> Int:
        """Tells how many CPUs can be kept busy.

        Returns:
            The quota in CPUs, rounded up, at least 1; -1 if there is no bound.
        """
        if self.quota_us < 0:
            return -1
        return max(1, (self.quota_us + self.period_us - 1) // self.period_us)


def parse_cpu_max(text: StringSpan) -> CpuQuota:
    """Reads `cpu.max` of version 2: quota and period, or `max` and period.

    Args:
        text: The file's content.

    Returns:
        The quota; no bound if the text has another form.
    """
    var words = text.split()
    if len(words) != 2:
        return CpuQuota.UNBOUNDED
    return quota_of(words[0], words[1])


def quota_of(quota: StringSpan, period: StringSpan) -> CpuQuota:
    """Joins quota and period, which version 1 keeps in two files.

    Args:
        quota: Microseconds; -1 or `max` for no bound.
        period: Microseconds.

    Returns:
        The quota; no bound if a text is not a number.
    """
    var quota_us = _number(quota)
    var period_us = _number(period)
    if quota_us < 0 or period_us <= 0:
        return CpuQuota.UNBOUNDED
    return CpuQuota(quota_us, period_us)


def _number(text: StringSpan) -> Int:
    """Reads decimal digits with white space around them; -1 for all else."""
    var digits = text.strip()
    if digits.byte_length() == 0 or digits.byte_length() > _MAX_DIGITS:
        return -1
    var number = 0
    for octet in digits.as_bytes():
        if octet < UInt8(ord("0")) or octet > UInt8(ord("9")):
            return -1
        number = number * 10 + Int(octet) - ord("0")
    return number


def group_path(text: StringSpan, controller: StringSpan) -> String:
    """Finds a process's control group in `/proc/self/cgroup`.

    Args:
        text: The file's content: lines of number, controllers and path.
        controller: A controller of version 1, or nothing for version 2.

    Returns:
        The path, as in `/system.slice/web.service`; empty if there is none.
    """
    for line in text.split("\n"):
        var parts = line.split(":", 2)
        if len(parts) != 3:
            continue
        if controller.byte_length() == 0:
            if parts[1].byte_length() == 0 and parts[0] == "0":
                return String(parts[2])
            continue
        for name in parts[1].split(","):
            if name == controller:
                return String(parts[2])
    return String()


def with_ancestors(path: StringSpan) -> List[String]:
    """Lists a group and the groups around it, whose quotas hold for it too.

    Args:
        path: Begins with `/`.

    Returns:
        The path and all that is above, without a slash at the end; the root
        is empty text.
    """
    var groups = List[String]()
    var group = String(path.removesuffix("/"))
    while True:
        var slash = group.rfind("/")
        groups.append(group)
        if slash < 0 or group.byte_length() == 0:
            return groups^
        var above = String(group[byte=0:slash])
        group = above^
