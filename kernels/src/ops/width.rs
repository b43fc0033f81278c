/// Evaluates `$body` with `$t` standing for the unsigned integer as wide as an element of `$dtype`: to move an element
/// is to move its bits.
macro_rules! with_width {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype.size() {
            1 => {
                type $t = u8;
                $body
            }
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = u32;
                $body
            }
            _ => {
                type $t = u64;
                $body
            }
        }
    };
}
pub(crate) use with_width;

/// Bytes below which a share is not worth another core.
const GRAIN_BYTES: usize = 32 << 10;

/// Items of `item_bytes` bytes that make a share worth another core.
pub(crate) fn grain(item_bytes: usize) -> usize {
    (GRAIN_BYTES / item_bytes.max(1)).max(1)
}
