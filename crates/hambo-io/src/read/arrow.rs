//! Arrow arrays as values, for Parquet as for Arrow IPC.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::{DataType, Field, SchemaRef, TimeUnit};

use super::hdf5::unsupported;
use super::table::{ColumnInfo, Kind, Place, Values};
use crate::error::{Error, Result};

/// What a column of this type is. A list's width is known from its first row only.
pub(crate) fn kind(data_type: &DataType) -> Kind {
    use DataType as T;
    match data_type {
        T::Float32 | T::Float64 => Kind::Float,
        T::Int8 | T::Int16 | T::Int32 | T::Int64 => Kind::Integer,
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => Kind::Integer,
        T::Boolean => Kind::Flag,
        T::Utf8 | T::LargeUtf8 | T::Utf8View => Kind::Text,
        T::Timestamp(..) | T::Date32 | T::Date64 => Kind::Time,
        T::Dictionary(_, values) => kind(values),
        T::FixedSizeList(item, _) | T::List(item) | T::LargeList(item) => kind(item.data_type()),
        _ => Kind::Other,
    }
}

/// The columns of a schema; `first` finds the first row of a column, for the widths of lists.
pub(crate) fn columns(
    schema: &SchemaRef,
    mut first: impl FnMut(usize) -> Result<Option<ArrayRef>>,
) -> Result<Vec<ColumnInfo>> {
    let mut columns = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let width = match field.data_type() {
            DataType::List(_) | DataType::LargeList(_) => match first(index)? {
                Some(array) if !array.is_empty() => list_width(&array, 0),
                _ => 1,
            },
            fixed => fixed_width(fixed),
        };
        columns.push(info(field, width));
    }
    Ok(columns)
}

fn info(field: &Field, width: usize) -> ColumnInfo {
    ColumnInfo { name: field.name().clone(), width, kind: kind(field.data_type()) }
}

fn fixed_width(data_type: &DataType) -> usize {
    match data_type {
        DataType::FixedSizeList(item, length) => {
            usize::try_from(*length).unwrap_or(0).saturating_mul(fixed_width(item.data_type()))
        }
        _ => 1,
    }
}

fn list_width(array: &ArrayRef, row: usize) -> usize {
    match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value_length(row) as usize,
        _ => array.as_list::<i64>().value_length(row) as usize,
    }
}

/// An array's values. Missing ones are refused, as are lists of unequal length.
pub(crate) fn values(array: &ArrayRef, place: Place<'_>) -> Result<Values> {
    use DataType as T;
    let is_number = matches!(kind(array.data_type()), Kind::Float | Kind::Integer);
    if array.null_count() > 0 && is_number && !is_list(array.data_type()) {
        return with_missing(array, place);
    }
    if let Some(index) = (array.null_count() > 0).then(|| first_null(array)).flatten() {
        let items = if is_list(array.data_type()) { place.column.width } else { 1 };
        return Err(place.bad(index * items, "missing", "fill or drop the rows before loading"));
    }
    macro_rules! integers {
        ($kind:ty) => {
            Values::Integer(
                array.as_primitive::<$kind>().values().iter().map(|&v| v.into()).collect(),
            )
        };
    }
    Ok(match array.data_type() {
        T::Float32 => Values::F32(array.as_primitive::<Float32Type>().values().to_vec()),
        T::Float64 => Values::F64(array.as_primitive::<Float64Type>().values().to_vec()),
        T::Int8 => integers!(Int8Type),
        T::Int16 => integers!(Int16Type),
        T::Int32 => integers!(Int32Type),
        T::Int64 => integers!(Int64Type),
        T::UInt8 => integers!(UInt8Type),
        T::UInt16 => integers!(UInt16Type),
        T::UInt32 => integers!(UInt32Type),
        T::UInt64 => {
            let numbers = array.as_primitive::<UInt64Type>().values().iter().enumerate();
            let advice = "it is too large for a 64-bit integer with a sign";
            let whole = numbers.map(|(index, &number)| {
                i64::try_from(number).map_err(|_| place.bad(index, number, advice))
            });
            Values::Integer(whole.collect::<Result<_>>()?)
        }
        T::Boolean => Values::Flag(array.as_boolean().values().iter().collect()),
        T::Utf8 => {
            Values::Text(array.as_string::<i32>().iter().flatten().map(Into::into).collect())
        }
        T::LargeUtf8 => {
            Values::Text(array.as_string::<i64>().iter().flatten().map(Into::into).collect())
        }
        T::Utf8View => {
            Values::Text(array.as_string_view().iter().flatten().map(Into::into).collect())
        }
        T::Timestamp(unit, _) => Values::Time(moments(array, *unit)),
        T::Date32 => {
            let days = array.as_primitive::<Date32Type>().values().iter();
            Values::Time(days.map(|&day| i64::from(day) * 86_400_000).collect())
        }
        T::Date64 => Values::Time(array.as_primitive::<Date64Type>().values().to_vec()),
        T::Dictionary(..) => {
            let words = array.as_any_dictionary();
            let Values::Text(known) = values(words.values(), place)? else {
                return Err(unsupported(place.path, &format!("column `{}`", place.column.name)));
            };
            Values::Text(
                words.normalized_keys().into_iter().map(|key| known[key].clone()).collect(),
            )
        }
        T::FixedSizeList(..) => {
            let list = array.as_fixed_size_list();
            let (width, length) = (list.value_length() as usize, list.len());
            let from = list.value_offset_at(0);
            let inner = list.values();
            let items =
                if length == 0 { inner.slice(0, 0) } else { inner.slice(from, length * width) };
            values(&items, place)?
        }
        T::List(_) | T::LargeList(_) => {
            for row in 0..array.len() {
                let found = list_width(array, row);
                if found != place.column.width {
                    let value = format!("a list of {found}");
                    let index = row * place.column.width;
                    return Err(place.bad(index, value, "all rows need lists of the same length"));
                }
            }
            values(&list_items(array), place)?
        }
        _ => return Err(unsupported(place.path, &format!("column `{}`", place.column.name))),
    })
}

/// Numbers of which some are missing, as NaN.
fn with_missing(array: &ArrayRef, place: Place<'_>) -> Result<Values> {
    let complete = array.to_data().into_builder().nulls(None).build();
    let complete = complete.map_err(|error| Error::damaged(place.path, "its content", error))?;
    let known: Vec<f64> = match values(&make_array(complete), place)? {
        Values::Integer(values) => values.into_iter().map(|value| value as f64).collect(),
        Values::F32(values) => values.into_iter().map(f64::from).collect(),
        Values::F64(values) => values,
        other => return Ok(other),
    };
    let value = |(row, value)| if array.is_null(row) { f64::NAN } else { value };
    Ok(Values::F64(known.into_iter().enumerate().map(value).collect()))
}

/// In milliseconds.
fn moments(array: &ArrayRef, unit: TimeUnit) -> Vec<i64> {
    match unit {
        TimeUnit::Second => {
            let seconds = array.as_primitive::<TimestampSecondType>().values().iter();
            seconds.map(|second| second.saturating_mul(1_000)).collect()
        }
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values().to_vec(),
        TimeUnit::Microsecond => {
            let all = array.as_primitive::<TimestampMicrosecondType>().values().iter();
            all.map(|micro| micro.div_euclid(1_000)).collect()
        }
        TimeUnit::Nanosecond => {
            let all = array.as_primitive::<TimestampNanosecondType>().values().iter();
            all.map(|nano| nano.div_euclid(1_000_000)).collect()
        }
    }
}

/// All items of a list's rows, one after the other.
fn list_items(array: &ArrayRef) -> ArrayRef {
    let (items, from, to) = match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let offsets = list.value_offsets();
            (list.values(), offsets[0] as usize, offsets[list.len()] as usize)
        }
        _ => {
            let list = array.as_list::<i64>();
            let offsets = list.value_offsets();
            (list.values(), offsets[0] as usize, offsets[list.len()] as usize)
        }
    };
    items.slice(from, to - from)
}

fn is_list(data_type: &DataType) -> bool {
    matches!(data_type, DataType::FixedSizeList(..) | DataType::List(_) | DataType::LargeList(_))
}

fn first_null(array: &ArrayRef) -> Option<usize> {
    (0..array.len()).find(|&row| array.is_null(row))
}
