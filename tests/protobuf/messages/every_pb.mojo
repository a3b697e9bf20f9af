# Made by `flare proto` of every.proto; a change here is lost.
"""Messages of every.proto."""

from flare.protobuf import (
    Boxed,
    EnumRow,
    Enumeration,
    FieldKind,
    FieldRow,
    Message,
    ProtobufMap,
    Timestamp,
    clear_oneof,
    which_oneof,
)


struct Every(Message):
    """Has a field of each kind."""

    comptime NAME = "flare.test.Every"
    comptime FIELD_COUNT = 62
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.DOUBLE, "f_double", "fDouble"),
        FieldRow(2, FieldKind.FLOAT, "f_float", "fFloat"),
        FieldRow(3, FieldKind.INT32, "f_int32", "fInt32"),
        FieldRow(4, FieldKind.INT64, "f_int64", "fInt64"),
        FieldRow(5, FieldKind.UINT32, "f_uint32", "fUint32"),
        FieldRow(6, FieldKind.UINT64, "f_uint64", "fUint64"),
        FieldRow(7, FieldKind.SINT32, "f_sint32", "fSint32"),
        FieldRow(8, FieldKind.SINT64, "f_sint64", "fSint64"),
        FieldRow(9, FieldKind.FIXED32, "f_fixed32", "fFixed32"),
        FieldRow(10, FieldKind.FIXED64, "f_fixed64", "fFixed64"),
        FieldRow(11, FieldKind.SFIXED32, "f_sfixed32", "fSfixed32"),
        FieldRow(12, FieldKind.SFIXED64, "f_sfixed64", "fSfixed64"),
        FieldRow(13, FieldKind.BOOL, "f_bool", "fBool"),
        FieldRow(14, FieldKind.STRING, "f_string", "fString"),
        FieldRow(15, FieldKind.BYTES, "f_bytes", "fBytes"),
        FieldRow(16, FieldKind.ENUM, "f_color", "fColor"),
        FieldRow(17, FieldKind.MESSAGE, "f_inner", "fInner"),
        FieldRow(18, FieldKind.MESSAGE, "f_every", "fEvery"),
        FieldRow(19, FieldKind.MESSAGE, "f_time", "fTime"),
        FieldRow(21, FieldKind.INT32, "o_int32", "oInt32"),
        FieldRow(22, FieldKind.DOUBLE, "o_double", "oDouble"),
        FieldRow(23, FieldKind.BOOL, "o_bool", "oBool"),
        FieldRow(24, FieldKind.STRING, "o_string", "oString"),
        FieldRow(25, FieldKind.BYTES, "o_bytes", "oBytes"),
        FieldRow(26, FieldKind.ENUM, "o_color", "oColor"),
        FieldRow(27, FieldKind.FIXED64, "o_fixed64", "oFixed64"),
        FieldRow(31, FieldKind.DOUBLE, "r_double", "rDouble"),
        FieldRow(32, FieldKind.FLOAT, "r_float", "rFloat"),
        FieldRow(33, FieldKind.INT32, "r_int32", "rInt32"),
        FieldRow(34, FieldKind.INT64, "r_int64", "rInt64"),
        FieldRow(35, FieldKind.UINT32, "r_uint32", "rUint32"),
        FieldRow(36, FieldKind.UINT64, "r_uint64", "rUint64"),
        FieldRow(37, FieldKind.SINT32, "r_sint32", "rSint32"),
        FieldRow(38, FieldKind.SINT64, "r_sint64", "rSint64"),
        FieldRow(39, FieldKind.FIXED32, "r_fixed32", "rFixed32"),
        FieldRow(40, FieldKind.FIXED64, "r_fixed64", "rFixed64"),
        FieldRow(41, FieldKind.SFIXED32, "r_sfixed32", "rSfixed32"),
        FieldRow(42, FieldKind.SFIXED64, "r_sfixed64", "rSfixed64"),
        FieldRow(43, FieldKind.BOOL, "r_bool", "rBool"),
        FieldRow(44, FieldKind.STRING, "r_string", "rString"),
        FieldRow(45, FieldKind.BYTES, "r_bytes", "rBytes"),
        FieldRow(46, FieldKind.ENUM, "r_color", "rColor"),
        FieldRow(47, FieldKind.MESSAGE, "r_inner", "rInner"),
        FieldRow(48, FieldKind.MESSAGE, "r_every", "rEvery"),
        FieldRow(49, FieldKind.INT32, "e_int32", "eInt32", expanded=True),
        FieldRow(50, FieldKind.FIXED64, "e_fixed64", "eFixed64", expanded=True),
        FieldRow(
            61, FieldKind.STRING, "m_string", "mString", key=FieldKind.STRING
        ),
        FieldRow(62, FieldKind.INT64, "m_int32", "mInt32", key=FieldKind.INT32),
        FieldRow(63, FieldKind.BYTES, "m_bool", "mBool", key=FieldKind.BOOL),
        FieldRow(
            64, FieldKind.DOUBLE, "m_sint64", "mSint64", key=FieldKind.SINT64
        ),
        FieldRow(
            65, FieldKind.ENUM, "m_fixed32", "mFixed32", key=FieldKind.FIXED32
        ),
        FieldRow(
            66, FieldKind.MESSAGE, "m_inner", "mInner", key=FieldKind.STRING
        ),
        FieldRow(
            67, FieldKind.MESSAGE, "m_every", "mEvery", key=FieldKind.UINT64
        ),
        FieldRow(71, FieldKind.STRING, "c_string", "cString", oneof=1),
        FieldRow(72, FieldKind.UINT32, "c_uint32", "cUint32", oneof=1),
        FieldRow(73, FieldKind.MESSAGE, "c_inner", "cInner", oneof=1),
        FieldRow(74, FieldKind.MESSAGE, "c_every", "cEvery", oneof=1),
        FieldRow(75, FieldKind.BYTES, "c_bytes", "cBytes", oneof=1),
        FieldRow(76, FieldKind.ENUM, "c_color", "cColor", oneof=1),
        FieldRow(77, FieldKind.BOOL, "c_bool", "cBool", oneof=1),
        FieldRow(81, FieldKind.STRING, "with_json_name", "@other"),
        FieldRow(536870911, FieldKind.INT32, "far"),
    ]

    var f_double: Float64
    var f_float: Float32
    var f_int32: Int32
    var f_int64: Int64
    var f_uint32: UInt32
    var f_uint64: UInt64
    var f_sint32: Int32
    var f_sint64: Int64
    var f_fixed32: UInt32
    var f_fixed64: UInt64
    var f_sfixed32: Int32
    var f_sfixed64: Int64
    var f_bool: Bool
    var f_string: String
    """Any text."""
    var f_bytes: List[UInt8]
    var f_color: Color
    var f_inner: Optional[Every_Inner]
    var f_every: Boxed[Every]
    var f_time: Optional[Timestamp]
    var o_int32: Optional[Int32]
    var o_double: Optional[Float64]
    var o_bool: Optional[Bool]
    var o_string: Optional[String]
    var o_bytes: Optional[List[UInt8]]
    var o_color: Optional[Color]
    var o_fixed64: Optional[UInt64]
    var r_double: List[Float64]
    var r_float: List[Float32]
    var r_int32: List[Int32]
    var r_int64: List[Int64]
    var r_uint32: List[UInt32]
    var r_uint64: List[UInt64]
    var r_sint32: List[Int32]
    var r_sint64: List[Int64]
    var r_fixed32: List[UInt32]
    var r_fixed64: List[UInt64]
    var r_sfixed32: List[Int32]
    var r_sfixed64: List[Int64]
    var r_bool: List[Bool]
    var r_string: List[String]
    var r_bytes: List[List[UInt8]]
    var r_color: List[Color]
    var r_inner: List[Every_Inner]
    var r_every: List[Every]
    var e_int32: List[Int32]
    var e_fixed64: List[UInt64]
    var m_string: ProtobufMap[String, String]
    var m_int32: ProtobufMap[Int32, Int64]
    var m_bool: ProtobufMap[Bool, List[UInt8]]
    var m_sint64: ProtobufMap[Int64, Float64]
    var m_fixed32: ProtobufMap[UInt32, Color]
    var m_inner: ProtobufMap[String, Every_Inner]
    var m_every: ProtobufMap[UInt64, Every]
    var c_string: Optional[String]
    var c_uint32: Optional[UInt32]
    var c_inner: Optional[Every_Inner]
    var c_every: Boxed[Every]
    var c_bytes: Optional[List[UInt8]]
    var c_color: Optional[Color]
    var c_bool: Optional[Bool]
    var with_json_name: String
    var far: Int32
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(f_double=0)

    def __init__(
        out self,
        *by_name: NoneType,
        f_double: Float64 = 0,
        f_float: Float32 = 0,
        f_int32: Int32 = 0,
        f_int64: Int64 = 0,
        f_uint32: UInt32 = 0,
        f_uint64: UInt64 = 0,
        f_sint32: Int32 = 0,
        f_sint64: Int64 = 0,
        f_fixed32: UInt32 = 0,
        f_fixed64: UInt64 = 0,
        f_sfixed32: Int32 = 0,
        f_sfixed64: Int64 = 0,
        f_bool: Bool = False,
        var f_string: String = "",
        var f_bytes: List[UInt8] = {},
        f_color: Color = Color(),
        var f_inner: Optional[Every_Inner] = None,
        var f_every: Boxed[Every] = {},
        var f_time: Optional[Timestamp] = None,
        var o_int32: Optional[Int32] = None,
        var o_double: Optional[Float64] = None,
        var o_bool: Optional[Bool] = None,
        var o_string: Optional[String] = None,
        var o_bytes: Optional[List[UInt8]] = None,
        var o_color: Optional[Color] = None,
        var o_fixed64: Optional[UInt64] = None,
        var r_double: List[Float64] = {},
        var r_float: List[Float32] = {},
        var r_int32: List[Int32] = {},
        var r_int64: List[Int64] = {},
        var r_uint32: List[UInt32] = {},
        var r_uint64: List[UInt64] = {},
        var r_sint32: List[Int32] = {},
        var r_sint64: List[Int64] = {},
        var r_fixed32: List[UInt32] = {},
        var r_fixed64: List[UInt64] = {},
        var r_sfixed32: List[Int32] = {},
        var r_sfixed64: List[Int64] = {},
        var r_bool: List[Bool] = {},
        var r_string: List[String] = {},
        var r_bytes: List[List[UInt8]] = {},
        var r_color: List[Color] = {},
        var r_inner: List[Every_Inner] = {},
        var r_every: List[Every] = {},
        var e_int32: List[Int32] = {},
        var e_fixed64: List[UInt64] = {},
        var m_string: ProtobufMap[String, String] = {},
        var m_int32: ProtobufMap[Int32, Int64] = {},
        var m_bool: ProtobufMap[Bool, List[UInt8]] = {},
        var m_sint64: ProtobufMap[Int64, Float64] = {},
        var m_fixed32: ProtobufMap[UInt32, Color] = {},
        var m_inner: ProtobufMap[String, Every_Inner] = {},
        var m_every: ProtobufMap[UInt64, Every] = {},
        var c_string: Optional[String] = None,
        var c_uint32: Optional[UInt32] = None,
        var c_inner: Optional[Every_Inner] = None,
        var c_every: Boxed[Every] = {},
        var c_bytes: Optional[List[UInt8]] = None,
        var c_color: Optional[Color] = None,
        var c_bool: Optional[Bool] = None,
        var with_json_name: String = "",
        far: Int32 = 0,
    ):
        self.f_double = f_double
        self.f_float = f_float
        self.f_int32 = f_int32
        self.f_int64 = f_int64
        self.f_uint32 = f_uint32
        self.f_uint64 = f_uint64
        self.f_sint32 = f_sint32
        self.f_sint64 = f_sint64
        self.f_fixed32 = f_fixed32
        self.f_fixed64 = f_fixed64
        self.f_sfixed32 = f_sfixed32
        self.f_sfixed64 = f_sfixed64
        self.f_bool = f_bool
        self.f_string = f_string^
        self.f_bytes = f_bytes^
        self.f_color = f_color
        self.f_inner = f_inner^
        self.f_every = f_every^
        self.f_time = f_time^
        self.o_int32 = o_int32^
        self.o_double = o_double^
        self.o_bool = o_bool^
        self.o_string = o_string^
        self.o_bytes = o_bytes^
        self.o_color = o_color^
        self.o_fixed64 = o_fixed64^
        self.r_double = r_double^
        self.r_float = r_float^
        self.r_int32 = r_int32^
        self.r_int64 = r_int64^
        self.r_uint32 = r_uint32^
        self.r_uint64 = r_uint64^
        self.r_sint32 = r_sint32^
        self.r_sint64 = r_sint64^
        self.r_fixed32 = r_fixed32^
        self.r_fixed64 = r_fixed64^
        self.r_sfixed32 = r_sfixed32^
        self.r_sfixed64 = r_sfixed64^
        self.r_bool = r_bool^
        self.r_string = r_string^
        self.r_bytes = r_bytes^
        self.r_color = r_color^
        self.r_inner = r_inner^
        self.r_every = r_every^
        self.e_int32 = e_int32^
        self.e_fixed64 = e_fixed64^
        self.m_string = m_string^
        self.m_int32 = m_int32^
        self.m_bool = m_bool^
        self.m_sint64 = m_sint64^
        self.m_fixed32 = m_fixed32^
        self.m_inner = m_inner^
        self.m_every = m_every^
        self.c_string = c_string^
        self.c_uint32 = c_uint32^
        self.c_inner = c_inner^
        self.c_every = c_every^
        self.c_bytes = c_bytes^
        self.c_color = c_color^
        self.c_bool = c_bool^
        self.with_json_name = with_json_name^
        self.far = far
        self.unknown_fields = {}

    def __deinit__(deinit self):
        pass

    def which_choice(self) -> Int:
        """Tells which field of `choice` is set, 0 for none."""
        return which_oneof(self, 1)

    def clear_choice(mut self):
        """Empties all fields of `choice`."""
        clear_oneof(self, 1)


struct Every_Inner(Message):
    """A message within."""

    comptime NAME = "flare.test.Every.Inner"
    comptime FIELD_COUNT = 3
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.STRING, "name"),
        FieldRow(2, FieldKind.INT64, "count"),
        FieldRow(3, FieldKind.MESSAGE, "deep"),
    ]

    var name: String
    var count: Int64
    var deep: Optional[Every_Inner_Deep]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(name="")

    def __init__(
        out self,
        *by_name: NoneType,
        var name: String = "",
        count: Int64 = 0,
        var deep: Optional[Every_Inner_Deep] = None,
    ):
        self.name = name^
        self.count = count
        self.deep = deep^
        self.unknown_fields = {}


struct Every_Inner_Deep(Message):
    comptime NAME = "flare.test.Every.Inner.Deep"
    comptime FIELD_COUNT = 3
    comptime FIELDS: Array[FieldRow, Self.FIELD_COUNT] = [
        FieldRow(1, FieldKind.BOOL, "self"),
        FieldRow(2, FieldKind.INT32, "def"),
        FieldRow(3, FieldKind.STRING, "match"),
    ]

    var self_: Bool
    var def_: Int32
    var match_: List[String]
    var unknown_fields: List[UInt8]

    def __init__(out self):
        self = Self(self_=False)

    def __init__(
        out self,
        *by_name: NoneType,
        self_: Bool = False,
        def_: Int32 = 0,
        var match_: List[String] = {},
    ):
        self.self_ = self_
        self.def_ = def_
        self.match_ = match_^
        self.unknown_fields = {}


@fieldwise_init
struct Color(Enumeration):
    """A colour."""

    comptime NAME = "flare.test.Color"
    comptime VALUE_COUNT = 3
    comptime VALUES: Array[EnumRow, Self.VALUE_COUNT] = [
        EnumRow(0, "COLOR_UNKNOWN"),
        EnumRow(1, "RED"),
        EnumRow(-2, "GREEN"),
    ]
    comptime COLOR_UNKNOWN = Color(0)
    """No colour is known."""
    comptime RED = Color(1)
    comptime GREEN = Color(-2)

    var number: Int32
