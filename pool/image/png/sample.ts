import type { RowShape } from './filter.js';

const placeCount = 4;
const largestPlace = 16_384;

/**
 * Four places of a picture, spread over its rows but not at their ends, where a border would be; 3 % of the picture or
 * 64 KB. Each is a small picture of its own, whose first row is what lies above it.
 */
export function samplePlaces({ data, stride, pixel }: RowShape, height: number): RowShape[] {
  const bytes = Math.min(Math.max((stride * height) / 128, 2048), largestPlace);
  const count = Math.min(Math.max(2, Math.ceil(bytes / stride)), height);
  const length = Math.min(stride, Math.floor(largestPlace / pixel) * pixel);
  const firsts = Array.from({ length: placeCount }, (_, i) =>
    Math.floor(((height - count) * (i + 0.5)) / placeCount),
  );
  return [...new Set(firsts)].map((first) => {
    const place = new Uint8Array((count + 1) * length);
    for (let row = first === 0 ? 1 : 0; row <= count; row++) {
      const at = (first - 1 + row) * stride + Math.floor((stride - length) / pixel / 2) * pixel;
      place.set(data.subarray(at, at + length), row * length);
    }
    return { data: place, stride: length, pixel };
  });
}

/** Rows of a place, without the one above. */
export function placeRows({ data, stride }: RowShape): number {
  return data.length / stride - 1;
}
