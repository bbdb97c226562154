/** The font size, in pixels, of text on a picture where none is asked for: a twentieth of the shorter side, at least 12. */
export function autoFontSize({ width, height }: { width: number; height: number }): number {
  return Math.max(12, Math.round(Math.min(width, height) / 20));
}
