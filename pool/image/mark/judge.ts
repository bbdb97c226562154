import type { LogoOptions, Position, WatermarkOptions } from '../engine.js';
import { either } from '../formats.js';
import type { Measure } from '../measure.js';
import { checkNames, judgeRotate, measure, type Problem, range, refuse, show } from '../options.js';
import type { Raster } from '../raster.js';
import type { Mark, Placing, TextMark } from './mark.js';

const positions: readonly Position[] = ['top-left', 'top-right', 'bottom-left', 'bottom-right', 'center'];
const placingNames = ['position', 'opacity', 'margin', 'rotate', 'tile'];
const textNames = ['text', 'fontSize', 'color', 'outline', 'wrap'];
const logoNames = ['mark', 'scale'];

/** The longest length that may be asked for, in pixels. */
const longest = 5000;
/** A logo that would be narrower than a thousandth of the picture is not to be seen. */
const leastScale = 0.001;
const defaults = { position: 'bottom-right', opacity: 0.5, margin: 'auto', scale: 0.2 } as const;

/** A mark with its defaults; `pixels` are those of the picture that it is, where it is one. */
export function judgeMark(
  options: WatermarkOptions | LogoOptions,
  pixels: (() => Promise<Raster>) | undefined,
): Mark {
  const given = pixels === undefined ? withoutMissing(options, 'mark') : withoutMissing(options, 'text');
  checkNames('watermark', given, [...(pixels === undefined ? textNames : logoNames), ...placingNames]);
  const placing = judgePlacing(options);
  if (pixels === undefined) return { ...placing, text: judgeText(options as WatermarkOptions) };
  const { scale = defaults.scale } = options as { scale?: number };
  refuse('watermark', [between('scale', scale, leastScale, 1)]);
  return { ...placing, logo: { pixels, scale } };
}

/** Of text and mark the other may be there, and undefined. */
function withoutMissing(options: object, name: 'mark' | 'text'): object {
  if (typeof options !== 'object' || options === null) return options;
  const { [name]: other, ...rest } = options as Record<string, unknown>;
  return other === undefined ? rest : options;
}

function judgePlacing(options: WatermarkOptions | LogoOptions): Placing {
  const {
    position = defaults.position,
    opacity = defaults.opacity,
    margin = defaults.margin,
    tile,
  } = options;
  if (!positions.includes(position)) {
    throw new TypeError(`watermark: position must be ${either(positions)}, but is ${show(position)}`);
  }
  if (tile !== undefined) checkNames('watermark.tile', tile, ['spacing']);
  const spacing = tile?.spacing ?? 'auto';
  refuse('watermark', [
    between('opacity', opacity, 0, 1),
    distance('margin', margin),
    distance('spacing', spacing),
  ]);
  return {
    position,
    opacity,
    margin,
    degrees: judgeRotate(options.rotate ?? 0),
    tile: tile && { spacing },
  };
}

function judgeText({ text, fontSize = 'auto', color = 'auto', outline, wrap }: WatermarkOptions): TextMark {
  if (typeof text !== 'string') {
    throw new TypeError(`watermark: text must be a string, but is ${show(text)}`);
  }
  if (color !== 'auto' && !/^#[\da-f]{6}$/i.test(color)) {
    throw new TypeError(`watermark: color must be #rrggbb or auto, but is ${show(color)}`);
  }
  if (wrap !== undefined) checkNames('watermark.wrap', wrap, ['maxLines']);
  refuse('watermark', [
    fontSize === 'auto' ? undefined : between('fontSize', fontSize, 1, longest),
    outline === undefined ? undefined : range('watermark', 'outline', outline, 0, longest),
    wrap && range('watermark', 'maxLines', wrap.maxLines, 1, longest),
  ]);
  return { text, fontSize, color, outline, wrap };
}

/** A TypeError for what is no number; a problem for one out of the range. */
function between(field: string, value: unknown, least: number, most: number): Problem | undefined {
  const wanted = `must be a number from ${least} to ${most}`;
  if (typeof value !== 'number' || Number.isNaN(value)) {
    throw new TypeError(`watermark: ${field} ${wanted}, but is ${show(value)}`);
  }
  return value >= least && value <= most ? undefined : { field, problem: `${wanted}, but is ${value}` };
}

function distance(field: string, value: Measure | 'auto'): Problem | undefined {
  return value === 'auto' ? undefined : measure('watermark', field, value, longest);
}
