"""JSON: strict parsing of RFC 8259 texts, read access, and writing."""

from flare.json.error import JsonError, JsonErrorKind
from flare.json.error import JsonKind
from flare.json.error import JsonLimits
from flare.json.rules import FieldRule, FieldRules, Ruled
from flare.json.schema import JsonDescribed, SchemaBook
from flare.json.struct_reader import JsonReadable, read_json
from flare.json.struct_writer import JsonWritable, json_text, write_json
from flare.json.value import JsonValue, parse
from flare.json.value import JsonElements, JsonMember, JsonMembers, JsonView
from flare.json.writer import JsonWriter, dumps
from flare.sys.random import KeyedHasher
