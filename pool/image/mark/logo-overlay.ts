import { resampleRaster } from '../geometry/resample.js';
import { shrinkRaster } from '../geometry/shrink.js';
import type { Raster } from '../raster.js';
import type { Overlay } from '../text/overlay.js';
import type { Size } from './place.js';
import { fitTurned, turnOverlay } from './turn.js';

/** So many times as large as it is to be, at least, a logo is left to the kernel. */
const leastTimes = 1.5;

/** The logo so many pixels wide, turned, and shrunk so that what is turned lies in the room. The same for both engines. */
export function logoOverlay(logo: Raster, width: number, room: Size, degrees: number): Overlay {
  const wanted = { width, height: (width * logo.height) / logo.width };
  const size = fitTurned(wanted, room, degrees);
  return turnOverlay(premultiplied(resized(logo, size)), degrees);
}

/** Of something many times as large its pixels are averaged first, for the kernel would take long over them and add nothing. */
function resized(logo: Raster, size: Size): Raster {
  if (logo.width === size.width && logo.height === size.height) return toFrame(logo);
  const times = Math.min(logo.width / size.width, logo.height / size.height) / leastTimes;
  const near = times >= 2 ? shrinkRaster(logo, Math.floor(times)) : toFrame(logo);
  return resampleRaster(near, size);
}

/** The first frame, with alpha. */
function toFrame(raster: Raster): Raster {
  const { data, width, height, channels } = raster;
  if (channels === 3) return shrinkRaster(raster, 1);
  return { ...raster, data: data.subarray(0, width * height * 4), frames: 1 };
}

function premultiplied({ data, width, height }: Raster): Overlay {
  const multiplied = new Uint8Array(data.length);
  for (let i = 0; i < data.length; i += 4) {
    const alpha = data[i + 3] as number;
    const share = alpha / 255;
    multiplied[i] = (data[i] as number) * share + 0.5;
    multiplied[i + 1] = (data[i + 1] as number) * share + 0.5;
    multiplied[i + 2] = (data[i + 2] as number) * share + 0.5;
    multiplied[i + 3] = alpha;
  }
  return { data: multiplied, width, height };
}
