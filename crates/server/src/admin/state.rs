//! The state of a sequence as a file: a `.npz` archive with an array for each state and window, and the number of
//! the last step.

use crate::fault::Fault;
use bytes::Bytes;
use std::io::Cursor;
use stead_node::Code;
use stead_tensor::npy::NpyError;
use stead_tensor::{Tensor, npz};

/// The array with the number of the last step. No model has a state of this name: it is an input of the
/// protocol.
const STEP: &str = "sequence_step";

/// The archive of a state.
///
/// # Errors
/// `UNIMPLEMENTED` for element types that NumPy does not have.
pub fn write(step: u64, values: &[(String, Tensor)]) -> Result<Bytes, Fault> {
    let number = Tensor::from_slice(&[step], &[])?;
    let states = values.iter().map(|(name, value)| (&**name, value.view()));
    let mut file = Cursor::new(Vec::new());
    npz::write(&mut file, states.chain([(STEP, number.view())]))
        .map_err(|e| Fault::unimplemented(format!("the state has no npz form: {e}")))?;
    Ok(file.into_inner().into())
}

/// The number of the last step and the values of an archive of at most `limit` bytes after decompression.
/// Without a number, one step has been done.
///
/// # Errors
/// What is no archive, or is too large.
pub fn read(bytes: Bytes, limit: u64) -> Result<(u64, Vec<(String, Tensor)>), Fault> {
    let mut values = npz::read(Cursor::new(bytes), limit).map_err(refused)?;
    let Some(place) = values.iter().position(|(name, _)| name == STEP) else {
        return Ok((1, values));
    };
    let (_, number) = values.swap_remove(place);
    let step = match number.as_slice::<u64>() {
        Ok([step]) => *step,
        _ => return Err(Fault::invalid("sequence_step is one number of type uint64")),
    };
    Ok((step, values))
}

fn refused(error: NpyError) -> Fault {
    let inner = match &error {
        NpyError::Member { error, .. } => error,
        other => other,
    };
    let code = match inner {
        NpyError::TooLarge { .. } => Code::PayloadTooLarge,
        _ => Code::InvalidArgument,
    };
    Fault::new(code, format!("the body is no npz archive that can be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_round_trip_and_are_bounded() {
        let value = Tensor::from_slice(&[1.0f32, 2.0], &[1, 2]).unwrap();
        let values = vec![("a".to_owned(), value)];
        let file = write(7, &values).unwrap();
        assert_eq!(read(file.clone(), 100).unwrap(), (7, values));
        assert_eq!(read(file.clone(), 8).unwrap_err().0.code, Code::PayloadTooLarge);
        assert_eq!(read(file.slice(..40), 100).unwrap_err().0.code, Code::InvalidArgument);
    }

    #[test]
    fn the_number_may_be_left_out_but_not_be_wrong() {
        let file = |tensor: &Tensor, name: &str| {
            let mut file = Cursor::new(Vec::new());
            npz::write(&mut file, [(name, tensor.view())]).unwrap();
            Bytes::from(file.into_inner())
        };
        let float = Tensor::from_slice(&[1.0f32], &[]).unwrap();
        assert_eq!(read(file(&float, "a"), 100).unwrap().0, 1);
        assert!(read(file(&float, "sequence_step"), 100).is_err());
    }
}
