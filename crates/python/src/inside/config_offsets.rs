//! Where the fields of `PyConfig` are. The structure is public and its layout fixed within a minor version; the numbers
//! are `offsetof` of the headers. From 3.14 on, fields are set by name instead.

/// Bytes from the start of `PyConfig`, and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConfigOffsets {
    pub size: usize,
    /// `int`.
    pub install_signal_handlers: usize,
    /// `int`.
    pub site_import: usize,
    /// `int`.
    pub write_bytecode: usize,
    /// `wchar_t *`.
    pub program_name: usize,
    /// `wchar_t *`.
    pub executable: usize,
}

/// The index of `utf8_mode` among the `int`s of `PyPreConfig`, which has ten of them in all of these versions.
pub(super) const PRECONFIG_UTF8_MODE: usize = 7;
pub(super) const PRECONFIG_INTS: usize = 10;

/// The offsets in Python 3.`minor`.
pub(super) const fn config_offsets(minor: u32) -> Option<ConfigOffsets> {
    let (size, site_import, write_bytecode, program_name, executable) = match minor {
        10 => (392, 152, 180, 240, 296),
        11 => (424, 168, 196, 264, 328),
        12 => (432, 176, 204, 272, 336),
        13 => (448, 176, 204, 280, 344),
        _ => return None,
    };
    let install_signal_handlers = 16;
    Some(ConfigOffsets {
        size,
        install_signal_handlers,
        site_import,
        write_bytecode,
        program_name,
        executable,
    })
}
