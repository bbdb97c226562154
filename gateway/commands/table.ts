import { escapeInvisible } from '../../schemas/quote.js';

/**
 * Lines of text with aligned columns, the headings first. No colour and no borders, so that `grep` and `awk` can read it; own
 * code because packages for tables draw both. What turns a terminal's text around is shown as its code.
 */
export function formatTable(headings: string[], rows: string[][]): string {
  const cells = [headings, ...rows].map((row) => row.map(escapeInvisible));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? ''))));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function widthOf(cell: string): number {
  return [...cell].length;
}
