/** Lines `aStart` up to `aEnd` of the old text are replaced by `bStart` up to `bEnd` of the new one; from 0, ends excluded. */
export interface Change {
  aStart: number;
  aEnd: number;
  bStart: number;
  bEnd: number;
}
