import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import sharp from 'sharp';
import { drawPhoto } from './photo.js';

export interface Picture {
  /** `2500 px`, its width. */
  name: string;
  bytes: Uint8Array;
}

/** What to measure on: this file, or a picture that is drawn for it, and the same one at 768 pixels. */
export async function pictures(file: string | undefined): Promise<{ from: string; sizes: Picture[] }> {
  const large = new Uint8Array(file ? await readFile(file) : await drawPhoto(2500, 1786));
  const small = await sharp(large).autoOrient().resize({ width: 768 }).jpeg({ quality: 92 }).toBuffer();
  return {
    from: file ? basename(file) : 'drawn picture',
    sizes: [await picture(large), await picture(new Uint8Array(small))],
  };
}

async function picture(bytes: Uint8Array): Promise<Picture> {
  const { width } = (await sharp(bytes).metadata()).autoOrient;
  return { name: `${width} px`, bytes };
}
