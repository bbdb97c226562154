/**
 * Filter types of PNG, section 9.2, own code as the encoder is. `paeth` is the packer's alone: in JavaScript it costs four times
 * the others.
 */
export const filters = { none: 0, sub: 1, up: 2, average: 3, paeth: 4 } as const;

export type FilterName = Exclude<keyof typeof filters, 'paeth'>;

/** What `filterRows` needs to know of the pixels: bytes in a row, bytes in a pixel. */
export interface RowShape {
  data: Uint8Array;
  stride: number;
  pixel: number;
}

/** `count` rows from `first`, each with its filter byte in front, as PNG compresses them. */
export function filterRows(rows: RowShape, name: FilterName, first: number, count: number): Buffer {
  const out = Buffer.allocUnsafe((rows.stride + 1) * count);
  for (let row = first, to = 0; row < first + count; row++, to += rows.stride + 1) {
    out[to] = filters[name];
    // Above the first row lie zeros, so there `up` leaves it as it is.
    if (name === 'none' || (name === 'up' && row === 0)) copyRow(rows, row, out, to + 1);
    else if (name === 'sub') subRow(rows, row, out, to + 1);
    else if (name === 'up') upRow(rows, row, out, to + 1);
    else averageRow(rows, row, out, to + 1);
  }
  return out;
}

function copyRow({ data, stride }: RowShape, row: number, out: Uint8Array, to: number): void {
  out.set(data.subarray(row * stride, (row + 1) * stride), to);
}

function subRow({ data, stride, pixel }: RowShape, row: number, out: Uint8Array, to: number): void {
  const at = row * stride;
  for (let i = 0; i < pixel; i++) out[to + i] = data[at + i] as number;
  for (let i = pixel; i < stride; i++) {
    out[to + i] = (data[at + i] as number) - (data[at + i - pixel] as number);
  }
}

function upRow({ data, stride }: RowShape, row: number, out: Uint8Array, to: number): void {
  const at = row * stride;
  for (let i = 0; i < stride; i++) {
    out[to + i] = (data[at + i] as number) - (data[at + i - stride] as number);
  }
}

/** Only the first row, which has none above, and the first pixel, which has none beside, are special. */
function averageRow({ data, stride, pixel }: RowShape, row: number, out: Uint8Array, to: number): void {
  const at = row * stride;
  if (row === 0) {
    for (let i = 0; i < stride; i++) {
      out[to + i] = (data[i] as number) - (i < pixel ? 0 : (data[i - pixel] as number) >> 1);
    }
    return;
  }
  const above = at - stride;
  for (let i = 0; i < pixel; i++) {
    out[to + i] = (data[at + i] as number) - ((data[above + i] as number) >> 1);
  }
  for (let i = pixel; i < stride; i++) {
    const both = (data[at + i - pixel] as number) + (data[above + i] as number);
    out[to + i] = (data[at + i] as number) - (both >> 1);
  }
}
