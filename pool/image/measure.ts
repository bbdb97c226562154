/** A length in a picture: whole pixels, or per cent of its shorter side, such as `"5%"`. */
export type Measure = number | `${number}%`;

const percent = /^\d{1,3}(?:\.\d{1,6})?%$/;

/** Whether a text is a share of 0 to 100 per cent. */
export function isPercent(value: unknown): value is `${number}%` {
  return typeof value === 'string' && percent.test(value) && Number.parseFloat(value) <= 100;
}

/** What a measure is in a picture of this size, in whole pixels. */
export function inPixels(measure: Measure, { width, height }: { width: number; height: number }): number {
  if (typeof measure === 'number') return measure;
  return Math.round((Math.min(width, height) * Number.parseFloat(measure)) / 100);
}
