import type { Image } from 'helper-gateway/helper';

/** What size is asked for: at least one of width and height, in pixels. */
export interface SizeWanted {
  width?: number | undefined;
  height?: number | undefined;
  fit: 'inside' | 'cover' | 'contain' | 'fill';
  /** Whether the picture may become larger than it is. */
  enlarge: boolean;
  /** `#rrggbb`, around what `contain` does not fill. */
  background: string;
}

/** The picture at the size that is asked for, or as near to it as it comes without becoming larger. */
export function resize(image: Image, wanted: SizeWanted): Image {
  const { width, height, fit } = wanted;
  if (width === undefined || height === undefined) return inside(image, wanted);
  const box = { width, height };
  if (fit === 'cover') return cover(image, box, wanted);
  if (fit === 'fill') return fill(image, box, wanted);
  const whole = inside(image, wanted);
  return fit === 'contain' ? pad(whole, box, wanted) : whole;
}

interface Box {
  width: number;
  height: number;
}

function inside(image: Image, { width, height, enlarge }: SizeWanted): Image {
  const fits = (width ?? image.width) >= image.width && (height ?? image.height) >= image.height;
  return fits && !enlarge ? image : image.resize({ width, height, fit: 'inside' });
}

function cover(image: Image, { width, height }: Box, { enlarge }: SizeWanted): Image {
  const factor = enlarge ? 1 : Math.max(1, width / image.width, height / image.height);
  return image.resize({ width: shrunk(width, factor), height: shrunk(height, factor), fit: 'cover' });
}

function fill(image: Image, { width, height }: Box, { enlarge }: SizeWanted): Image {
  return image.resize({
    width: enlarge ? width : Math.min(width, image.width),
    height: enlarge ? height : Math.min(height, image.height),
    fit: 'fill',
  });
}

function pad(image: Image, { width, height }: Box, { background }: SizeWanted): Image {
  const left = Math.floor((width - image.width) / 2);
  const top = Math.floor((height - image.height) / 2);
  const right = width - image.width - left;
  const bottom = height - image.height - top;
  return image.border({ width: 0, top, right, bottom, left, color: background });
}

function shrunk(side: number, factor: number): number {
  return Math.max(1, Math.round(side / factor));
}
