"""What `.proto` files declare, by names."""

from flare.bytes.base64 import base64_decode
from flare.bytes.checked import *
from flare.grpc.reflection.descriptors import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from flare.protobuf.reader import decode


@fieldwise_init
struct _Extension(TrivialRegisterPassable):
    var number: Int32
    var file: Int


@fieldwise_init
struct _File(Copyable, Movable):
    var octets: List[UInt8]
    var imports: List[String]


struct DescriptorIndex(Defaultable, Movable):
    """Files, and which of them declares a name."""

    var _files: List[_File]
    var _by_name: Dict[String, Int]
    var _by_symbol: Dict[String, Int]
    var _extensions: Dict[String, List[_Extension]]

    def add_set(mut self, text: StringSpan) raises:
        """Adds the files of a set in base64; of those of one name the first
        counts. Raises if it is no such set."""
        var digits = List[UInt8](capacity=text.byte_length())
        for octet in text.as_bytes():
            if octet > 32:
                digits.append(octet)
        var octets = base64_decode(digits)
        if not octets:
            raise Error("the description of a service is no base64")
        var set = decode[FileDescriptorSet](octets.held())
        for index in range(len(set.file)):
            self._add(set.file.at(index))

    def file(self, name: String) -> Int:
        """Finds a file by its name, as `import` has it; -1 if there is none."""
        return self._by_name.get(name, -1)

    def file_of(self, symbol: String) -> Int:
        """Finds what declares a full name; -1 if nothing does."""
        return self._by_symbol.get(symbol, -1)

    def file_of_extension(self, extended: String, number: Int32) -> Int:
        """Finds what declares an extension of a message; -1 if nothing does."""
        var known = self._extensions.get(extended)
        if known:
            for index in range(len(known.held())):
                if known.held().at(index).number == number:
                    return known.held().at(index).file
        return -1

    def extension_numbers(self, extended: String) -> List[Int32]:
        """Gives the numbers of a message's extensions, the lowest first."""
        var numbers = List[Int32]()
        var known = self._extensions.get(extended)
        if known:
            for index in range(len(known.held())):
                numbers.append(known.held().at(index).number)
        sort(numbers)
        return numbers^

    def file_count(self) -> Int:
        """Counts the files, whose places are 0 and those after it."""
        return len(self._files)

    def octets(ref self, file: Int) -> ref[self._files[0].octets] List[UInt8]:
        """Lends a file as it was described."""
        return self._files.at(file).octets

    def imports(self, file: Int) -> List[Int]:
        """Gives the files that a file imports, as far as they are known."""
        var found = List[Int]()
        ref names = self._files.at(file).imports
        for index in range(len(names)):
            var other = self.file(names.at(index))
            if other >= 0:
                found.append(other)
        return found^

    def _add(mut self, octets: List[UInt8]) raises:
        var file = decode[FileDescriptorProto](octets)
        if file.name in self._by_name:
            return
        var place = len(self._files)
        self._by_name[file.name] = place
        self._files.append(_File(octets.copy(), file.dependency.copy()))
        for index in range(len(file.message_type)):
            self._add_message(file.package, file.message_type.at(index), place)
        for index in range(len(file.enum_type)):
            self._add_enum(file.package, file.enum_type.at(index), place)
        for index in range(len(file.extension)):
            self._add_extension(file.package, file.extension.at(index), place)
        for index in range(len(file.service)):
            ref service = file.service.at(index)
            var full = self._declare(file.package, service.name, place)
            for position in range(len(service.method)):
                _ = self._declare(full, service.method.at(position).name, place)

    def _declare(mut self, scope: String, name: String, file: Int) -> String:
        var full = name if scope == "" else String(scope, ".", name)
        if full not in self._by_symbol:
            self._by_symbol[full] = file
        return full^

    def _add_message(
        mut self, scope: String, message: DescriptorProto, file: Int
    ):
        var full = self._declare(scope, message.name, file)
        for index in range(len(message.field)):
            _ = self._declare(full, message.field.at(index).name, file)
        for index in range(len(message.oneof_decl)):
            _ = self._declare(full, message.oneof_decl.at(index).name, file)
        for index in range(len(message.enum_type)):
            self._add_enum(full, message.enum_type.at(index), file)
        for index in range(len(message.extension)):
            self._add_extension(full, message.extension.at(index), file)
        for index in range(len(message.nested_type)):
            self._add_message(full, message.nested_type.at(index), file)

    def _add_enum(
        mut self, scope: String, known: EnumDescriptorProto, file: Int
    ):
        _ = self._declare(scope, known.name, file)
        # Values are names of what their enumeration is in, not of it.
        for index in range(len(known.value)):
            _ = self._declare(scope, known.value.at(index).name, file)

    def _add_extension(
        mut self, scope: String, extension: FieldDescriptorProto, file: Int
    ):
        _ = self._declare(scope, extension.name, file)
        var extended = String(extension.extendee.removeprefix("."))
        self._extensions.setdefault(extended, []).append(
            _Extension(extension.number_, file)
        )
