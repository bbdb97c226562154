import type { Raster } from '../../../pool/image/raster.js';
import { toSharp } from './pictures.js';

type Content = Uint8Array | number[] | string;

const bytesOf = (content: Content) =>
  typeof content === 'string' ? Buffer.from(content, 'latin1') : Buffer.from(content);

/** A box of ISO/IEC 14496-12. */
export function box(type: string, ...content: Content[]): Buffer {
  const body = Buffer.concat(content.map(bytesOf));
  return Buffer.concat([u32(8 + body.length), Buffer.from(type, 'latin1'), body]);
}

export const u16 = (value: number) => Buffer.from([value >> 8, value & 255]);
export const u32 = (value: number) => Buffer.from([24, 16, 8, 0].map((shift) => (value >>> shift) & 255));

export interface AvifItem {
  type?: string;
  data: Uint8Array;
  properties: Buffer[];
  /** Boxes of `iref` from this item, such as `dimg`, to these. */
  references?: Record<string, number[]>;
}

export const ispe = (width: number, height: number) => box('ispe', u32(0), u32(width), u32(height));
export const irot = (quarterTurns: number) => box('irot', [quarterTurns]);
export const imir = (axis: number) => box('imir', [axis]);
export const alphaKind = box('auxC', u32(0), 'urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0');

/** What a grid of tiles says of itself. */
export const grid = (rows: number, columns: number, width: number, height: number) =>
  Buffer.concat([Buffer.from([0, 1, rows - 1, columns - 1]), u32(width), u32(height)]);

/** An AVIF of these items, the first of which is the picture. */
export function avifOf(
  items: readonly AvifItem[],
  { brands = ['avif', 'mif1', 'miaf'], more = [] as Buffer[] } = {},
): Buffer {
  const properties = items.flatMap((item) => item.properties);
  let index = 0;
  const ipma = items.map(({ properties: own }, at) =>
    Buffer.concat([u16(at + 1), Buffer.from([own.length]), Buffer.from(own.map(() => ++index | 128))]),
  );
  const references = items.flatMap(({ references = {} }, at) =>
    Object.entries(references).map(([type, to]) =>
      box(type, u16(at + 1), u16(to.length), ...to.map((id) => u16(id + 1))),
    ),
  );
  const ftyp = box('ftyp', brands[0] as string, u32(0), ...brands);
  const metaOf = (start: number) => {
    let offset = start;
    const iloc = items.map(({ data }, at) => {
      const entry = Buffer.concat([u16(at + 1), u16(0), u16(1), u32(offset), u32(data.length)]);
      offset += data.length;
      return entry;
    });
    return box(
      'meta',
      u32(0),
      box('hdlr', u32(0), u32(0), 'pict', Buffer.alloc(13)),
      box('pitm', u32(0), u16(1)),
      box('iloc', u32(0), [0x44, 0], u16(items.length), ...iloc),
      box(
        'iinf',
        u32(0),
        u16(items.length),
        ...items.map(({ type = 'av01' }, at) => box('infe', [2, 0, 0, 0], u16(at + 1), u16(0), type, [0])),
      ),
      ...(references.length > 0 ? [box('iref', u32(0), ...references)] : []),
      box('iprp', box('ipco', ...properties), box('ipma', u32(0), u32(items.length), ...ipma)),
    );
  };
  const before = ftyp.length + metaOf(0).length + Buffer.concat(more).length + 8;
  return Buffer.concat([ftyp, metaOf(before), ...more, box('mdat', ...items.map(({ data }) => data))]);
}

/** A picture as sharp codes it, without the container. */
export async function codedItem(raster: Raster, size = ispe(raster.width, raster.height)): Promise<AvifItem> {
  const file = await toSharp(raster).avif({ quality: 90, chromaSubsampling: '4:4:4' }).toBuffer();
  const boxAt = (type: string) => {
    const at = file.indexOf(type, 0, 'latin1') - 4;
    return file.subarray(at, at + file.readUInt32BE(at));
  };
  return { data: boxAt('mdat').subarray(8), properties: [boxAt('av1C'), size, boxAt('pixi')] };
}
