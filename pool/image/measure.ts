/** A length in a picture: whole pixels, or per cent of a side, such as `"5%"`. */
export type Measure = number | `${number}%`;

const percent = /^\d{1,9}(?:\.\d{1,9})?%$/;

/** The per cent that a text says; undefined for what is none. */
export function percentIn(value: unknown): number | undefined {
  return typeof value === 'string' && percent.test(value) ? Number.parseFloat(value) : undefined;
}

/** The measure in whole pixels, where 100 per cent are `whole`. */
export function inPixels(measure: Measure, whole: number): number {
  return typeof measure === 'number' ? measure : Math.round(((percentIn(measure) ?? 0) / 100) * whole);
}
