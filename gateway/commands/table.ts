/** Lines of text with aligned columns, the headings first. No colour and no borders, so that `grep` and `awk` can read it. */
export function formatTable(headings: string[], rows: string[][]): string {
  const cells = [headings, ...rows].map((row) => row.map(printable));
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

/** A label may hold anything but control characters; what turns a terminal's text around is shown as its code. */
function printable(cell: string): string {
  return cell.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

function widthOf(cell: string): number {
  return [...cell].length;
}
