import { geometricMean, type Judged } from './measure.js';
import type { Picture } from './pictures.js';

/** The watermark that is drawn; all else is the helper's default. */
export const watermark = {
  text: '© Example Studio 2026',
  position: 'bottom-right',
  opacity: 0.5,
  fontSize: 32,
  color: '#ffffff',
} as const;

/** Of the plain re-encode's cost, for the large picture and the small one. */
const atMost = [1.25, 2];

/** Of each size, the ratios of all formats to a plain re-encode. */
export function watermarkGoals(
  where: string,
  sizes: readonly Picture[],
  ratios: readonly number[][],
): Judged[] {
  return sizes.map(({ name }, at) => ({
    what: `watermark ${where} beside a plain re-encode, ${name}, geometric mean`,
    figure: geometricMean(ratios[at] ?? []),
    unit: '×',
    goal: { atMost: atMost[at] ?? 0 },
  }));
}
