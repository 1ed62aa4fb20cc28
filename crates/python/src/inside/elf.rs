//! The interposer: a shared object of a few hundred bytes, written in memory, that is the first object of a namespace.
//!
//! The search list of the first object loaded into a namespace is the global scope of everything loaded there later. So
//! what the interposer exports wins over libc for libpython and every wheel, and libpython, which it needs, is in that
//! scope, where wheels look for the `Py*` functions that they leave undefined. An object without version tables
//! satisfies references with versions.
//!
//! Layout: one page readable and executable (headers, `.hash`, `.dynsym`, `.dynstr`, code), one page readable and
//! writable (`.dynamic`, then the address of the [table](super::interpose::Table) of functions that the code jumps to).
//! There are no relocations: the address is known when the object is written, so it is valid before a constructor of
//! any library runs (CPython 3.13's allocator creates a key in one). Formats: System V ABI, AMD64 supplement.

/// How the code of an exported function gets to the function in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// Jumps with the caller's arguments.
    Jump,
    /// Adds the address of the table as the n-th argument (1, 2 or 5) and jumps.
    Context(u8),
    /// `dlopen`: a null name gives the entry of the table at this offset (the namespace's own handle); other names go
    /// on without `RTLD_GLOBAL`, by a jump that keeps the return address, by which the loader knows the namespace.
    Open {
        /// Bytes from the start of the table.
        own_handle: i32,
    },
}

/// A function that the interposer exports.
#[derive(Debug, Clone, Copy)]
pub(super) struct Export {
    pub name: &'static str,
    pub code: Code,
    /// Bytes from the start of the table to the address of the function.
    pub offset: i32,
}

const PAGE: usize = 0x1000;
/// Bytes for the code of one function.
const CODE: usize = 48;
const DYNAMIC_ENTRIES: usize = 8;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_GNU_STACK: u32 = 0x6474_e551;
const READ_EXECUTE: u32 = 5;
const READ_WRITE: u32 = 6;

/// The bytes of an interposer whose code jumps by the table at address `table`, and which needs the library with the
/// absolute path `needed`.
pub(super) fn interposer(needed: &[u8], exports: &[Export], table: u64) -> Vec<u8> {
    let mut strings = vec![0u8];
    let mut add = |text: &[u8]| {
        let at = strings.len();
        strings.extend_from_slice(text);
        strings.push(0);
        at
    };
    let needed = add(needed);
    let soname = add(b"libstead-interposer.so");
    let names: Vec<usize> = exports.iter().map(|export| add(export.name.as_bytes())).collect();

    let symbols = 1 + exports.len();
    let hash_at = (64 + 4 * 56usize).next_multiple_of(16);
    let symbols_at = (hash_at + 4 * (3 + symbols)).next_multiple_of(16);
    let strings_at = symbols_at + 24 * symbols;
    let code_at = (strings_at + strings.len()).next_multiple_of(16);
    let code_end = code_at + CODE * exports.len();
    let data_at = code_end.next_multiple_of(PAGE);
    let pointer_at = data_at + 16 * DYNAMIC_ENTRIES;
    let end = pointer_at + 8;

    let mut file = Image { bytes: Vec::with_capacity(end) };
    // ELF64, little-endian, a shared object for x86-64; the program headers follow at 64.
    file.put(&[0x7f, b'E', b'L', b'F', 2, 1, 1]).pad(16);
    file.u16(3).u16(62).u32(1).u64(0).u64(64).u64(0).u32(0);
    file.u16(64).u16(56).u16(4).u16(0).u16(0).u16(0);
    file.segment(PT_LOAD, READ_EXECUTE, 0, code_end, PAGE);
    file.segment(PT_LOAD, READ_WRITE, data_at, end - data_at, PAGE);
    file.segment(PT_DYNAMIC, READ_WRITE, data_at, 16 * DYNAMIC_ENTRIES, 8);
    file.segment(PT_GNU_STACK, READ_WRITE, 0, 0, 16);

    // One bucket whose chain is every symbol.
    file.pad(hash_at).u32(1).u32(symbols as u32).u32(1).u32(0);
    for symbol in 1..symbols {
        file.u32(if symbol + 1 < symbols { symbol as u32 + 1 } else { 0 });
    }
    // The first symbol is undefined; the others are global functions of section 1, whose number nobody looks at.
    file.pad(symbols_at + 24);
    for (i, name) in names.iter().enumerate() {
        file.u32(*name as u32).put(&[0x12, 0]).u16(1);
        file.u64((code_at + CODE * i) as u64).u64(CODE as u64);
    }
    file.put(&strings);
    for (i, export) in exports.iter().enumerate() {
        let at = code_at + CODE * i;
        file.pad(at).put(&code(export, at, pointer_at));
    }

    let dynamic = [
        (1, needed),         // DT_NEEDED
        (14, soname),        // DT_SONAME
        (4, hash_at),        // DT_HASH
        (5, strings_at),     // DT_STRTAB
        (6, symbols_at),     // DT_SYMTAB
        (10, strings.len()), // DT_STRSZ
        (11, 24),            // DT_SYMENT
        (0, 0),              // DT_NULL
    ];
    file.pad(data_at);
    for (tag, value) in dynamic {
        file.u64(tag).u64(value as u64);
    }
    file.u64(table);
    debug_assert_eq!(file.bytes.len(), end);
    file.bytes
}

/// The instructions of a function that stands at `at`, where the address of the table stands at `pointer`.
fn code(export: &Export, at: usize, pointer: usize) -> Vec<u8> {
    let mut code = Vec::with_capacity(CODE);
    // mov rax, [rip + pointer]: rax holds no argument of a function that takes a fixed number of them.
    let load = |code: &mut Vec<u8>| {
        code.extend([0x48, 0x8b, 0x05]);
        let next = at + code.len() + 4;
        code.extend((pointer as i32 - next as i32).to_le_bytes());
    };
    match export.code {
        Code::Jump => load(&mut code),
        Code::Context(argument) => {
            load(&mut code);
            match argument {
                1 => code.extend([0x48, 0x89, 0xc7]), // mov rdi, rax
                2 => code.extend([0x48, 0x89, 0xc6]), // mov rsi, rax
                _ => code.extend([0x49, 0x89, 0xc0]), // mov r8, rax
            }
        }
        Code::Open { own_handle } => {
            code.extend([0x48, 0x85, 0xff]); // test rdi, rdi
            code.extend([0x75, 15]); // jnz past the return
            load(&mut code);
            code.extend([0x48, 0x8b, 0x80]); // mov rax, [rax + own_handle]
            code.extend(own_handle.to_le_bytes());
            code.push(0xc3); // ret
            code.extend([0x81, 0xe6]); // and esi, ~RTLD_GLOBAL
            code.extend((!0x100i32).to_le_bytes());
            load(&mut code);
        }
    }
    code.extend([0xff, 0xa0]); // jmp [rax + offset]
    code.extend(export.offset.to_le_bytes());
    debug_assert!(code.len() <= CODE);
    code
}

/// Bytes of a file, appended in order.
struct Image {
    bytes: Vec<u8>,
}

impl Image {
    fn put(&mut self, bytes: &[u8]) -> &mut Image {
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn u16(&mut self, value: u16) -> &mut Image {
        self.put(&value.to_le_bytes())
    }

    fn u32(&mut self, value: u32) -> &mut Image {
        self.put(&value.to_le_bytes())
    }

    fn u64(&mut self, value: u64) -> &mut Image {
        self.put(&value.to_le_bytes())
    }

    fn pad(&mut self, to: usize) -> &mut Image {
        debug_assert!(self.bytes.len() <= to);
        self.bytes.resize(to, 0);
        self
    }

    /// A program header of a segment at the same place in file and memory.
    fn segment(&mut self, kind: u32, flags: u32, at: usize, len: usize, align: usize) {
        let (at, len) = (at as u64, len as u64);
        self.u32(kind).u32(flags).u64(at).u64(at).u64(at).u64(len).u64(len).u64(align as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_as_an_assembler_would_write_it() {
        let pointer = 0x2080;
        let at = 0x1000;
        let cases: [(Code, &[u8]); 3] = [
            (Code::Jump, &[0x48, 0x8b, 0x05, 0x79, 0x10, 0, 0, 0xff, 0xa0, 8, 0, 0, 0]),
            (
                Code::Context(5),
                &[0x48, 0x8b, 0x05, 0x79, 0x10, 0, 0, 0x49, 0x89, 0xc0, 0xff, 0xa0, 8, 0, 0, 0],
            ),
            (
                Code::Open { own_handle: 16 },
                &[
                    0x48, 0x85, 0xff, 0x75, 15, 0x48, 0x8b, 0x05, 0x74, 0x10, 0, 0, 0x48, 0x8b,
                    0x80, 16, 0, 0, 0, 0xc3, 0x81, 0xe6, 0xff, 0xfe, 0xff, 0xff, 0x48, 0x8b, 0x05,
                    0x5f, 0x10, 0, 0, 0xff, 0xa0, 8, 0, 0, 0,
                ],
            ),
        ];
        for (kind, expected) in cases {
            let export = Export { name: "f", code: kind, offset: 8 };
            assert_eq!(code(&export, at, pointer), expected, "{kind:?}");
        }
    }

    #[test]
    fn the_file_holds_what_its_headers_say() {
        let export = Export { name: "exit", code: Code::Jump, offset: 0 };
        let file = interposer(b"/lib/libpython3.so", &[export; 9], 0x1122_3344_5566_7788);
        assert_eq!(&file[..4], b"\x7fELF");
        assert_eq!(file.len() % 8, 0);
        assert_eq!(&file[file.len() - 8..], &0x1122_3344_5566_7788u64.to_le_bytes());
        let holds = |text: &[u8]| file.windows(text.len()).any(|window| window == text);
        assert!(holds(b"\0/lib/libpython3.so\0") && holds(b"\0exit\0"));
    }
}
