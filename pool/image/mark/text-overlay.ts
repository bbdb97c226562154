import type { Overlay, TextRenderer } from '../text/overlay.js';
import type { TextStyle } from '../text/style.js';
import type { TextMark } from './mark.js';
import type { Size } from './place.js';
import { boundsBeforeTurn, fitTurned, largestTurned, turnOverlay } from './turn.js';

/** Pixels on a side of the drawing that only tells a line's proportions, which it has at any size. */
const probeSide = 512;

/** How a text is drawn: its font size known, its colour one, and the side that its lines are flush with. */
export interface DrawnText extends Omit<TextMark, 'fontSize'>, Pick<TextStyle, 'align' | 'fontSize'> {}

/** The text, turned, and shrunk so that what is turned lies in the room. Undefined where there is no ink. */
export function textOverlay(
  drawn: DrawnText,
  room: Size,
  degrees: number,
  renderer: TextRenderer,
): Overlay | undefined {
  const { text, ...style } = drawn;
  const box = degrees === 0 ? room : boxOf(drawn, room, degrees, renderer);
  const overlay = box && renderer.render(text, { ...style, maxWidth: box.width, maxHeight: box.height });
  return overlay && turnOverlay(overlay, degrees);
}

/**
 * The box that the text has to keep to before it is turned. Lines are broken to fill the largest that there is; one line has
 * proportions of its own, and is given the largest box of those.
 */
function boxOf(
  { text, ...style }: DrawnText,
  room: Size,
  degrees: number,
  renderer: TextRenderer,
): Size | undefined {
  if (style.wrap) return largestTurned(room, degrees);
  const most = boundsBeforeTurn(room, degrees);
  const scale = Math.min(1, probeSide / Math.max(most.width, most.height));
  const probe = renderer.render(text, {
    ...style,
    fontSize: style.fontSize * scale,
    outline: style.outline && style.outline * scale,
    maxWidth: Math.ceil(most.width * scale),
    maxHeight: Math.ceil(most.height * scale),
  });
  return probe && fitTurned({ width: probe.width / scale, height: probe.height / scale }, room, degrees);
}
