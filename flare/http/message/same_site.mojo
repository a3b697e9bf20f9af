"""When a browser sends a cookie along with requests that other sites cause."""

from flare.bytes.ascii import equals_ignore_case


@fieldwise_init
struct SameSite(Equatable, TrivialRegisterPassable, Writable):
    """A cookie's SameSite attribute (RFC 6265bis section 5.6.7)."""

    var code: UInt8
    """A small number, distinct for each value."""

    comptime UNSET = SameSite(0)
    """No attribute: the browser decides, today mostly as `LAX`."""
    comptime STRICT = SameSite(1)
    """Only with requests that the cookie's own site causes."""
    comptime LAX = SameSite(2)
    """Also when a link of another site leads here."""
    comptime NONE = SameSite(3)
    """With all requests; browsers want `Secure` with it."""

    @staticmethod
    def parse(octets: Span[UInt8, _]) -> Self:
        """Reads the attribute's value, in any case.

        Args:
            octets: The value.

        Returns:
            The setting; `UNSET` if the value is unknown.
        """
        if equals_ignore_case(octets, "strict".as_bytes()):
            return Self.STRICT
        if equals_ignore_case(octets, "lax".as_bytes()):
            return Self.LAX
        if equals_ignore_case(octets, "none".as_bytes()):
            return Self.NONE
        return Self.UNSET

    def name(self) -> StaticString:
        """Names the setting.

        Returns:
            The attribute's value; empty for `UNSET`.
        """
        if self == Self.STRICT:
            return "Strict"
        if self == Self.LAX:
            return "Lax"
        if self == Self.NONE:
            return "None"
        return ""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name.

        Args:
            writer: Where to.
        """
        writer.write(self.name())
