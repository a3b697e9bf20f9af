"""What clients send and get."""

from flare.http.extract import Checked, InputError

comptime TITLE_LEN_MAX = 200
"""Longest title, in characters."""


@fieldwise_init
struct Task(Copyable, Movable):
    """A thing to do."""

    var id: Int
    var title: String
    var done: Bool


@fieldwise_init
struct NewTask(Checked):
    """What it takes to add a task."""

    var title: String

    def check(self) raises InputError:
        check_title(self.title)


@fieldwise_init
struct TaskChange(Checked):
    """What is to change of a task; the rest stays as it is."""

    var title: Optional[String]
    var done: Optional[Bool]

    def check(self) raises InputError:
        if self.title:
            check_title(self.title.value())


@fieldwise_init
struct TaskPage(Movable):
    """Tasks, as they were at some revision of the list."""

    var revision: Int
    var tasks: List[Task]


def check_title(title: String) raises InputError:
    """Refuses what would be no line in a list."""
    if title.strip().byte_length() == 0:
        raise InputError.of_content("title", "must not be blank")
    var length = title.count_codepoints()
    if length > TITLE_LEN_MAX:
        raise InputError.of_content(
            "title",
            String("has ", length, " characters; at most ", TITLE_LEN_MAX),
        )
    for octet in title.as_bytes():
        if octet < 32 or octet == 127:
            raise InputError.of_content("title", "must be one line of text")
