/** How text is drawn, and the room it has. */
export interface TextStyle {
  /** Pixels. */
  fontSize: number;
  /** `#rrggbb`. */
  color: string;
  /** Pixels around the letters, black or white, whichever stands out from the colour; shrunk as the text is. Default 0. */
  outline?: number | undefined;
  /** The side that lines are flush with. Default `left`. */
  align?: Align | undefined;
  /** The room there is, in whole pixels, at least one; the text is shrunk to it. */
  maxWidth: number;
  maxHeight: number;
  /** Breaks the text into lines no wider than the room, at most so many; without it there is one line. */
  wrap?: { maxLines: number } | undefined;
}

export type Align = 'left' | 'center' | 'right';
