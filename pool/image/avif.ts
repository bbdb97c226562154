import type { ImageHeader, Orientation, Size } from './engine.js';

/** Boxes, entries, tiles and OBUs that a file may have, so that it is read in linear time: an 8K grid has hundreds. */
const maxParts = 20_000;

/** A file that is no AVIF, or none that is accepted; DataView throws the same beyond its end. */
function refuse(): never {
  throw new RangeError('not an AVIF that is accepted');
}

/** A part of the file, read from front to back and never beyond its end. */
class Bytes {
  readonly #view: DataView;
  readonly #total: { parts: number };
  /** In bits. */
  #at = 0;

  constructor(view: DataView, total = { parts: 0 }) {
    this.#view = view;
    this.#total = total;
  }

  get length(): number {
    return this.#view.byteLength;
  }

  get left(): number {
    return this.length - this.#at / 8;
  }

  count(): void {
    this.#total.parts += 1;
    if (this.#total.parts > maxParts) refuse();
  }

  /** The next bits as a number, the highest first; 0 of none. */
  bits(count: number): number {
    let value = 0;
    for (const end = this.#at + count; this.#at < end; this.#at++) {
      value = value * 2 + ((this.#view.getUint8(Math.floor(this.#at / 8)) >> (7 - (this.#at & 7))) & 1);
    }
    return value;
  }

  number(bytes: number): number {
    return this.bits(8 * bytes);
  }

  /** The next bytes as a number in AV1's own way, the lowest seven bits first. */
  leb128(): number {
    let value = 0;
    for (let factor = 1; factor < 2 ** 56; factor *= 128) {
      const byte = this.number(1);
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    return refuse();
  }

  text(length = 4): string {
    return String.fromCharCode(...Array.from({ length }, () => this.number(1)));
  }

  part(from: number, length: number): Bytes {
    this.count();
    // DataView would go on beyond the end of this part.
    if (!(length >= 0) || from + length > this.length) refuse();
    return new Bytes(new DataView(this.#view.buffer, this.#view.byteOffset + from, length), this.#total);
  }

  next(length = this.left): Bytes {
    const part = this.part(this.#at / 8, length);
    this.#at += 8 * length;
    return part;
  }

  /** The same from its front. */
  again(): Bytes {
    return this.part(0, this.length);
  }

  /** All that is left, as boxes (ISO/IEC 14496-12, 4.2). */
  boxes(): Box[] {
    const boxes: Box[] = [];
    while (this.left >= 8) {
      const size = this.number(4);
      const type = this.text();
      const length = size === 1 ? this.number(8) - 16 : size === 0 ? this.left : size - 8;
      boxes.push({ type, body: this.next(length) });
    }
    return boxes;
  }
}

interface Box {
  type: string;
  body: Bytes;
}

/** What is in the one box of a type; of two, a decoder might read the other. */
function find(boxes: readonly Box[], type: string): Bytes | undefined {
  const [found, second] = boxes.filter((box) => box.type === type);
  return second ? refuse() : found?.body.again();
}

function need(boxes: readonly Box[], type: string): Bytes {
  return find(boxes, type) ?? refuse();
}

/** A coded picture, or a grid of some. */
interface Item {
  type: string;
  properties: Box[];
  data?: Bytes;
  /** Items that a grid is made of, in its order. */
  tiles: Item[];
  /** Items that go with this one: its transparency, a depth map. */
  beside: Item[];
}

type Items = Map<number, Item>;

/** The brands of a file (ISO/IEC 14496-12, 4.3); none of anything else. */
function brandsOf(view: DataView): string[] {
  if (view.byteLength < 16) return [];
  const head = new Bytes(view);
  const length = Math.min(head.number(4), view.byteLength, 256);
  return head.text() === 'ftyp' ? Array.from({ length: (length - 8) >> 2 }, () => head.text()) : [];
}

/** What a file is that has AVIF's container and is not accepted; undefined for anything else. */
export function nameRefusedHeif(view: DataView): string | undefined {
  const brands = brandsOf(view);
  if (brands.includes('avis')) return 'an animated AVIF';
  const isHeif = brands.some((brand) => /^(he(ic|ix|im|is|vc|vx)|mif1|msf1)$/.test(brand));
  return isHeif && !brands.includes('avif') ? 'a HEIC or HEIF' : undefined;
}

/**
 * The header of a still AVIF (ISO/IEC 23008-12 and AV1's binding to it): size and orientation of its primary item, a
 * coded picture or a grid of some. EXIF's orientation does not count in this format. What decoders may read differently
 * is refused: a clean aperture, an item in pieces, a box twice. `codedPixels` is what a decoder would make, by AV1's
 * own headers: a small size in the container must not hide a large picture.
 */
export function readAvifHeader(view: DataView): ImageHeader | undefined {
  const brands = brandsOf(view);
  if (!brands.includes('avif') || brands.includes('avis')) return undefined;
  try {
    return readHeader(new Bytes(view));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function readHeader(file: Bytes): ImageHeader {
  const top = file.boxes();
  if (find(top, 'moov')) refuse();
  const metaBox = need(top, 'meta');
  metaBox.number(4);
  const meta = metaBox.boxes();
  const items = readItems(need(meta, 'iinf'));
  readProperties(need(meta, 'iprp').boxes(), items);
  readLocations(need(meta, 'iloc'), items, file, find(meta, 'idat'));
  const references = find(meta, 'iref');
  if (references) readReferences(references, items);
  const pitm = need(meta, 'pitm');
  const primary = items.get(pitm.number(4) < version1 ? pitm.number(2) : pitm.number(4)) ?? refuse();
  const pixels = codedPixels(primary);
  const beside = [primary, ...primary.tiles].flatMap((item) => item.beside);
  const alpha = [...new Set(beside)].filter(isAlpha);
  return {
    format: 'avif',
    ...sizeOf(primary),
    frames: 1,
    orientation: orientationOf(primary),
    cmyk: false,
    alpha: alpha.length > 0,
    codedPixels: Math.max(pixels, sumOf(alpha)),
  };
}

/** A box's first four bytes where its version is 1; below, it is 0. */
const version1 = 2 ** 24;

function readItems(iinf: Bytes): Items {
  const items: Items = new Map();
  iinf.number(iinf.number(4) < version1 ? 2 : 4);
  for (const { body } of iinf.boxes()) {
    const version = body.number(1);
    if (version !== 2 && version !== 3) refuse();
    body.number(3);
    const id = body.number(version === 2 ? 2 : 4);
    if (items.has(id)) refuse();
    body.number(2);
    items.set(id, { type: body.text(), properties: [], tiles: [], beside: [] });
  }
  return items;
}

function readProperties(iprp: readonly Box[], items: Items): void {
  const properties = need(iprp, 'ipco').boxes();
  const ipma = need(iprp, 'ipma');
  const [version, flags] = [ipma.number(1), ipma.number(3)];
  for (let entries = ipma.number(4); entries > 0; entries--) {
    ipma.count();
    const item = items.get(ipma.number(version === 0 ? 2 : 4)) ?? refuse();
    for (let left = ipma.number(1); left > 0; left--) {
      ipma.count();
      const index = flags & 1 ? ipma.number(2) & 0x7fff : ipma.number(1) & 0x7f;
      if (index > 0) item.properties.push(properties[index - 1] ?? refuse());
    }
  }
}

function readLocations(iloc: Bytes, items: Items, file: Bytes, idat?: Bytes): void {
  // Items may share bytes, but not so that a decoder's copies of them fill its memory.
  let bytes = 4 * file.length;
  const [version, , sizes, more] = [iloc.number(1), iloc.number(3), iloc.number(1), iloc.number(1)];
  for (let left = iloc.number(version < 2 ? 2 : 4); left > 0; left--) {
    iloc.count();
    const item = items.get(iloc.number(version < 2 ? 2 : 4));
    const place = version === 0 ? 0 : iloc.number(2);
    const [otherFile, base, pieces] = [iloc.number(2), iloc.number(more >> 4), iloc.number(2)];
    for (let piece = 0; piece < pieces; piece++) {
      iloc.count();
      if (version > 0) iloc.number(more & 15);
      const [offset, length] = [base + iloc.number(sizes >> 4), iloc.number(sizes & 15)];
      bytes -= length;
      if (bytes < 0) refuse();
      // Metadata may lie where it wants.
      if (item?.type !== 'av01' && item?.type !== 'grid') continue;
      if (item.data || pieces > 1 || otherFile || place > 1) refuse();
      item.data = (place === 0 ? file : (idat ?? refuse())).part(offset, length);
    }
  }
}

function readReferences(iref: Bytes, items: Items): void {
  const idBytes = iref.number(4) < version1 ? 2 : 4;
  for (const { type, body } of iref.boxes()) {
    const from = items.get(body.number(idBytes)) ?? refuse();
    for (let left = body.number(2); left > 0; left--) {
      body.count();
      const to = items.get(body.number(idBytes)) ?? refuse();
      if (type === 'dimg') from.tiles.push(to);
      if (type === 'auxl') to.beside.push(from);
    }
  }
}

function sizeOf({ properties }: Item): Size {
  const ispe = need(properties, 'ispe');
  ispe.number(4);
  return { width: ispe.number(4), height: ispe.number(4) };
}

const alphaKind = /^.{4}urn:mpeg:(mpegB:cicp:systems:auxiliary:alpha|hevc:2015:auxid:1)\0/s;

function isAlpha({ properties }: Item): boolean {
  const kind = find(properties, 'auxC');
  return kind !== undefined && alphaKind.test(kind.text(Math.min(kind.left, 64)));
}

/** By quarter turns anticlockwise (`irot`), before no flip, one top to bottom, or one left to right (`imir`). */
const orientations: readonly (readonly Orientation[])[] = [
  [1, 4, 2],
  [8, 5, 7],
  [3, 2, 4],
  [6, 7, 5],
];

function orientationOf({ properties }: Item): Orientation {
  // Decoders differ in a clean aperture, and in what is flipped before it is turned.
  const changes = properties.map(({ type }) => type).filter((type) => /^(clap|irot|imir)$/.test(type));
  if (!['', 'irot', 'imir', 'irot imir'].includes(changes.join(' '))) refuse();
  const turns = (find(properties, 'irot')?.number(1) ?? 0) & 3;
  const flip = find(properties, 'imir');
  return orientations[turns]?.[flip ? 1 + (flip.number(1) & 1) : 0] ?? 1;
}

/** Pixels that a decoder makes for an item. */
function codedPixels(item: Item): number {
  const { type, properties, tiles, data = refuse() } = item;
  const own = data.again();
  if (type === 'av01') {
    const config = need(properties, 'av1C');
    config.number(4);
    return framePixels([config.next(), own]);
  }
  const areCoded = tiles.every((tile) => tile.type === 'av01') && new Set(tiles).size === tiles.length;
  own.number(1);
  const sideBytes = own.number(1) & 1 ? 4 : 2;
  const count = (own.number(1) + 1) * (own.number(1) + 1);
  const { width, height } = sizeOf(item);
  const isWhole = own.number(sideBytes) === width && own.number(sideBytes) === height;
  return areCoded && count === tiles.length && isWhole ? sumOf(tiles) : refuse();
}

function sumOf(items: readonly Item[]): number {
  return items.reduce((sum, item) => sum + codedPixels(item), 0);
}

/** Pixels of all frames in these pieces of an AV1 bitstream (its specification, 5.3). */
function framePixels(pieces: readonly Bytes[]): number {
  let largest = 0;
  let pixels = 0;
  for (const piece of pieces) {
    while (piece.left > 0) {
      const head = piece.number(1);
      if (head & 4) piece.number(1);
      const payload = piece.next(head & 2 ? piece.leb128() : piece.left);
      const type = (head >> 3) & 15;
      if (type === sequenceHeader) largest = Math.max(largest, largestFrame(payload));
      if (type === frame || type === frameHeader) pixels += largest;
    }
  }
  // A decoder needs both.
  return pixels || refuse();
}

const sequenceHeader = 1;
const frameHeader = 3;
const frame = 6;

/** Pixels of the largest frame that a sequence header allows (AV1 specification, 5.5). */
function largestFrame(header: Bytes): number {
  const bits = (count: number) => header.bits(count);
  bits(4);
  // A reduced header, as most stills have it, names a level alone.
  if (bits(1)) bits(5);
  else {
    const hasTiming = bits(1);
    if (hasTiming) bits(64);
    // A constant rate and a model of a decoder's buffers are for streams.
    if (hasTiming && (bits(1) || bits(1))) refuse();
    const hasDelays = bits(1);
    for (let points = bits(5) + 1; points > 0; points--) {
      bits(12);
      if (bits(5) > 7) bits(1);
      if (hasDelays && bits(1)) bits(4);
    }
  }
  const [widthBits, heightBits] = [bits(4) + 1, bits(4) + 1];
  return (bits(widthBits) + 1) * (bits(heightBits) + 1);
}
