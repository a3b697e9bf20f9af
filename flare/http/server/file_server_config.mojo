"""How the files of a folder are served."""

comptime FILE_CACHE_MS = 1_000
"""How long files are kept open for the next requests, in milliseconds.

Long enough that a busy file is hardly ever opened, and short enough that who
replaces a folder by another sees it at once.
"""


struct FileServerConfig(Copyable, Movable):
    """How files are served."""

    var prefix: String
    """What of a request's path stands before that of the file: `/static` for
    a server under `/static/*rest`."""
    var index_file: String
    """What is sent for a folder; empty for nothing."""
    var fallback_file: String
    """What is sent where there is no file, as single-page applications want;
    empty to answer 404."""
    var cache_control: String
    """The Cache-Control field of what is found; empty for none."""
    var lists_folders: Bool
    """Whether a folder without an index is listed."""
    var follows_links: Bool
    """Whether symbolic links are followed, wherever they lead."""
    var serves_hidden: Bool
    """Whether files are served whose names begin with a dot."""
    var serves_coded: Bool
    """Whether `NAME.br` or `NAME.gz` beside a file is sent to clients that
    take it."""
    var cache_ms: Int
    """How long a file is kept open for the next requests, in milliseconds; 0
    to open it for each. See `FileFolder` for what may be noticed that late."""

    def __init__(
        out self,
        *,
        var prefix: String = String(),
        var index_file: String = String("index.html"),
        var fallback_file: String = String(),
        var cache_control: String = String(),
        lists_folders: Bool = False,
        follows_links: Bool = False,
        serves_hidden: Bool = False,
        serves_coded: Bool = True,
        cache_ms: Int = FILE_CACHE_MS,
    ):
        """Chooses.

        Args:
            prefix: What stands before the path of the file.
            index_file: What is sent for a folder.
            fallback_file: What is sent where there is no file.
            cache_control: The Cache-Control field.
            lists_folders: Whether a folder without an index is listed.
            follows_links: Whether symbolic links are followed.
            serves_hidden: Whether hidden files are served.
            serves_coded: Whether coded neighbours are sent.
            cache_ms: How long files are kept open; 0 for not at all.
        """
        self.prefix = prefix^
        self.index_file = index_file^
        self.fallback_file = fallback_file^
        self.cache_control = cache_control^
        self.lists_folders = lists_folders
        self.follows_links = follows_links
        self.serves_hidden = serves_hidden
        self.serves_coded = serves_coded
        self.cache_ms = cache_ms
