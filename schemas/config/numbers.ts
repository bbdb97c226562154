import { readBytes, readCount, readNumber, readSeconds } from './forms.js';
import type { Form } from './variable.js';

interface Bounds {
  min: number;
  max: number;
}

interface IntegerOptions extends Bounds {
  /** What is counted, e.g. `milliseconds`. */
  of?: string;
  /** What a person should know of some value, e.g. `0 is no limit`. */
  note?: string;
}

function isWhole({ min, max }: Bounds): (value: number) => boolean {
  return (value) => Number.isInteger(value) && value >= min && value <= max;
}

/** A whole number in digits. */
export function integer({ min, max, of, note }: IntegerOptions): Form<number> {
  const counted = of === undefined ? '' : ` of ${of}`;
  const noted = note === undefined ? '' : `; ${note}`;
  return {
    read: readNumber,
    fits: isWhole({ min, max }),
    wanted: `a whole number${counted} from ${min} to ${max}${noted}`,
  };
}

/** A time. */
export function milliseconds(bounds: Bounds): Form<number> {
  return integer({ ...bounds, of: 'milliseconds' });
}

/** A whole number that may be written with K, M or G for thousands, millions and so on. */
export function count(options: IntegerOptions): Form<number> {
  return { ...integer(options), read: readCount };
}

/** Pixels, as a count. */
export function pixels({ min, max }: Bounds): Form<number> {
  return {
    ...count({ min, max }),
    wanted: `a number of pixels from ${min} to ${max}, such as 40000000 or 40M`,
  };
}

/** A time in whole seconds, which may be written with a unit. */
export function seconds({ min, max }: Bounds): Form<number> {
  return {
    ...integer({ min, max }),
    read: readSeconds,
    wanted: `a time from ${min} to ${max} seconds, such as 90, 90s, 10m, 24h or 7d`,
  };
}

/** A size of at least one byte, where no other least is given; its bound is said in gigabytes. */
export function bytes({ min = 1, max, such }: { min?: number; max: number; such: string }): Form<number> {
  return {
    read: readBytes,
    fits: isWhole({ min, max }),
    wanted: `a number of bytes, at most ${max / 1024 ** 3} GB, such as ${such}`,
  };
}

/** A part of the whole, which may be all of it but not nothing. */
export const share: Form<number> = {
  read: readNumber,
  fits: (value) => value > 0 && value <= 1,
  wanted: 'a number above 0, up to 1',
};
