# Made by `flare proto` of route_guide.proto; a change here is lost.
"""Messages of route_guide.proto."""

from flare.protobuf import FieldKind, FieldRow, Message


struct Point(Message):
    comptime NAME = "routeguide.Point"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.INT32, "latitude"),
        FieldRow(2, FieldKind.INT32, "longitude"),
    ]

    var latitude: Int32
    var longitude: Int32
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(latitude=0)

    def __init__(
        out self,
        *by_name: NoneType,
        latitude: Int32 = 0,
        longitude: Int32 = 0,
    ):
        self.latitude = latitude
        self.longitude = longitude
        self.unknown_fields = {}


struct Rectangle(Message):
    comptime NAME = "routeguide.Rectangle"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.MESSAGE, "lo"),
        FieldRow(2, FieldKind.MESSAGE, "hi"),
    ]

    var lo: Optional[Point]
    var hi: Optional[Point]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(lo=None)

    def __init__(
        out self,
        *by_name: NoneType,
        var lo: Optional[Point] = None,
        var hi: Optional[Point] = None,
    ):
        self.lo = lo^
        self.hi = hi^
        self.unknown_fields = {}


struct Feature(Message):
    comptime NAME = "routeguide.Feature"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.MESSAGE, "location"),
    ]

    var name: String
    var location: Optional[Point]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
        var location: Optional[Point] = None,
    ):
        self.name = name^
        self.location = location^
        self.unknown_fields = {}


struct RouteNote(Message):
    comptime NAME = "routeguide.RouteNote"
    comptime FIELD_COUNT = 2
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.MESSAGE, "location"),
        FieldRow(2, FieldKind.STRING, "message"),
    ]

    var location: Optional[Point]
    var message: String
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(location=None)

    def __init__(
        out self,
        *by_name: NoneType,
        var location: Optional[Point] = None,
        var message: String = "",
    ):
        self.location = location^
        self.message = message^
        self.unknown_fields = {}


struct RouteSummary(Message):
    comptime NAME = "routeguide.RouteSummary"
    comptime FIELD_COUNT = 3
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.INT32, "point_count", "pointCount"),
        FieldRow(2, FieldKind.INT32, "feature_count", "featureCount"),
        FieldRow(3, FieldKind.INT32, "distance"),
    ]

    var point_count: Int32
    var feature_count: Int32
    var distance: Int32
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(point_count=0)

    def __init__(
        out self,
        *by_name: NoneType,
        point_count: Int32 = 0,
        feature_count: Int32 = 0,
        distance: Int32 = 0,
    ):
        self.point_count = point_count
        self.feature_count = feature_count
        self.distance = distance
        self.unknown_fields = {}
