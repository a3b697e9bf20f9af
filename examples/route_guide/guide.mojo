"""The guide: what it knows of the world, and how it answers."""

from examples.route_guide.messages.route_guide_grpc import RouteGuide
from examples.route_guide.messages.route_guide_pb import (
    Feature,
    Point,
    Rectangle,
    RouteNote,
    RouteSummary,
)
from flare.grpc import GrpcCall, GrpcCode, GrpcStatus, GrpcStream, Replies
from flare.http import State
from std.math import asin, cos, pi, sin, sqrt
from std.memory import ArcPointer

comptime NOTES_MAX = 1000
"""How many notes are kept, of all places together."""

comptime _EARTH_M = 6_371_000.0


struct World(Movable):
    """What is where."""

    var features: List[Feature]

    def __init__(out self):
        self.features = [
            _feature("Berkshire Valley", 409146138, -746188906),
            _feature("Patriots Path", 407838351, -746143763),
            _feature("Kleinsville Road", 410248224, -747127767),
            _feature("Oak Ridge Road", 413069058, -744597778),
        ]

    def at(self, place: Point) -> Optional[Feature]:
        for feature in self.features:
            ref there = feature.location.value()
            if _is_same(there, place):
                return feature.copy()
        return None


def _feature(name: StringSpan, latitude: Int32, longitude: Int32) -> Feature:
    return Feature(
        name=String(name),
        location=Point(latitude=latitude, longitude=longitude),
    )


def _is_same(one: Point, other: Point) -> Bool:
    return one.latitude == other.latitude and one.longitude == other.longitude


struct Guide(RouteGuide):
    """The service; its streams share the world, and the notes."""

    comptime ListFeatures = Listing
    comptime RecordRoute = Recording
    comptime RouteChat = Chatting
    var world: ArcPointer[World]
    var notes: State[List[RouteNote]]

    def __init__(out self) raises:
        self.world = ArcPointer(World())
        self.notes = State(List[RouteNote]())

    def get_feature(
        self, request: Point, mut call: GrpcCall
    ) raises GrpcStatus -> Feature:
        return (
            self.world[].at(request).or_else(Feature(location=request.copy()))
        )

    def list_features(self, mut call: GrpcCall) raises GrpcStatus -> Listing:
        return Listing(self.world)

    def record_route(self, mut call: GrpcCall) raises GrpcStatus -> Recording:
        return Recording(self.world)

    def route_chat(self, mut call: GrpcCall) raises GrpcStatus -> Chatting:
        return Chatting(self.notes)


struct Listing(GrpcStream):
    """Gives the features in a rectangle, as the caller takes them."""

    comptime Request = Rectangle
    comptime Reply = Feature
    var world: ArcPointer[World]
    var wanted: Rectangle
    var next: Int

    def __init__(out self, world: ArcPointer[World]):
        self.world = world.copy()
        self.wanted = Rectangle()
        self.next = 0

    def on_message(
        mut self, var request: Rectangle, mut replies: Replies[Feature]
    ) raises GrpcStatus:
        if not request.lo or not request.hi:
            raise GrpcStatus(GrpcCode.INVALID_ARGUMENT, "give both corners")
        self.wanted = request^

    def on_end(mut self, mut replies: Replies[Feature]) raises GrpcStatus:
        # There are no more requests; replies follow in `on_room`.
        return

    def on_room(mut self, mut replies: Replies[Feature]) raises GrpcStatus:
        ref features = self.world[].features
        while self.next < len(features):
            self.next += 1
            ref feature = features[self.next - 1]
            if _is_within(feature.location.value(), self.wanted):
                replies.send(feature)
                # The next one when there is room again.
                return
        replies.end()


def _is_within(place: Point, area: Rectangle) -> Bool:
    ref lo = area.lo.value()
    ref hi = area.hi.value()
    return (
        place.latitude >= min(lo.latitude, hi.latitude)
        and place.latitude <= max(lo.latitude, hi.latitude)
        and place.longitude >= min(lo.longitude, hi.longitude)
        and place.longitude <= max(lo.longitude, hi.longitude)
    )


struct Recording(GrpcStream):
    """Sums a route up."""

    comptime Request = Point
    comptime Reply = RouteSummary
    var world: ArcPointer[World]
    var summary: RouteSummary
    var metres: Float64
    var last: Optional[Point]

    def __init__(out self, world: ArcPointer[World]):
        self.world = world.copy()
        self.summary = RouteSummary()
        self.metres = 0
        self.last = None

    def on_message(
        mut self, var request: Point, mut replies: Replies[RouteSummary]
    ) raises GrpcStatus:
        self.summary.point_count += 1
        if self.world[].at(request):
            self.summary.feature_count += 1
        if self.last:
            self.metres += _metres(self.last.value(), request)
        self.last = request^

    def on_end(mut self, mut replies: Replies[RouteSummary]) raises GrpcStatus:
        self.summary.distance = Int32(self.metres)
        replies.send(self.summary)


def _metres(start: Point, end: Point) -> Float64:
    """Measures along the surface of the earth (haversine)."""
    comptime RADIANS = pi / 180 / 1e7
    var from_latitude = Float64(start.latitude) * RADIANS
    var to_latitude = Float64(end.latitude) * RADIANS
    var across = Float64(end.longitude) * RADIANS - (
        Float64(start.longitude) * RADIANS
    )
    var up = sin((to_latitude - from_latitude) / 2)
    var over = sin(across / 2)
    var part = up * up + cos(from_latitude) * cos(to_latitude) * over * over
    return 2 * _EARTH_M * asin(sqrt(min(part, 1.0)))


@fieldwise_init
struct Chatting(GrpcStream):
    """Answers each note with those that were there before."""

    comptime Request = RouteNote
    comptime Reply = RouteNote
    var notes: State[List[RouteNote]]

    def on_message(
        mut self, var request: RouteNote, mut replies: Replies[RouteNote]
    ) raises GrpcStatus:
        if not request.location:
            raise GrpcStatus(GrpcCode.INVALID_ARGUMENT, "a note has a place")
        var notes = self.notes.lock()
        for note in notes[]:
            if _is_same(note.location.value(), request.location.value()):
                replies.send(note)
        if len(notes[]) < NOTES_MAX:
            notes[].append(request^)
