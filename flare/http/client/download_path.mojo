"""What a download to a file may write to, and replace."""

from flare.http.client.error import ClientError, Phase, SinkFailed
from flare.sys.file import PathKind


def file_error(var reason: String) -> ClientError:
    """Makes the error for a file that cannot be written."""
    return ClientError(
        materialize[Phase.READ_BODY](), materialize[SinkFailed](), reason^
    )


def check_path(path: StringSpan, replaces: Bool) raises ClientError:
    """Refuses a name that is not free, and holds no file that gives way: what
    else stands there is never replaced. A symbolic link to a file, or to
    nothing, gives way itself."""
    var found: PathKind
    var end = PathKind.NOTHING
    try:
        found = PathKind.of(path, follows_links=False)
        if found == PathKind.LINK:
            end = PathKind.of(path, follows_links=True)
    except error:
        raise file_error(String(path, ": ", error))
    var is_replaceable = found == PathKind.FILE or (
        found == PathKind.LINK
        and (end == PathKind.FILE or end == PathKind.NOTHING)
    )
    var is_name = path.byte_length() > 0 and not path.endswith("/")
    if found == PathKind.NOTHING and is_name:
        return
    if is_replaceable and replaces:
        return
    if is_replaceable:
        raise file_error(
            String(path, " is there already; let it be replaced, or remove it")
        )
    if found == PathKind.NOTHING:
        raise file_error(
            String("'", path, "' names no file; name one in a folder")
        )
    var text = String(path, " is ", found)
    if found == PathKind.LINK:
        text.write(" to ", end)
    text.write(", and only a file is replaced; ")
    if found == PathKind.FOLDER or end == PathKind.FOLDER:
        text.write("name a file in it")
    else:
        text.write("choose another name, or `download` to write to it")
    raise file_error(text^)


def check_part(path: StringSpan) raises ClientError:
    """Refuses to write to what is no file, or not the part itself."""
    var found: PathKind
    try:
        found = PathKind.of(path, follows_links=False)
    except error:
        raise file_error(String(path, ": ", error))
    if found != PathKind.NOTHING and found != PathKind.FILE:
        raise file_error(
            String(
                path,
                ", which what comes is written to, is ",
                found,
                "; remove it, or choose another name",
            )
        )
