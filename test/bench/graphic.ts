import sharp from 'sharp';

/** Lines, plain areas, a gradient and small print, as in a screenshot or a chart: what photographs are not. PNG. */
export async function drawGraphic(width: number, height: number): Promise<Uint8Array> {
  const bars = Array.from({ length: 24 }, (_, at) => {
    const tall = Math.round(height * (0.15 + 0.5 * Math.abs(Math.sin(at * 1.7))));
    const x = Math.round((width * at) / 24);
    return `<rect x="${x}" y="${height - tall}" width="${Math.round(width / 32)}" height="${tall}" fill="hsl(${at * 15} 60% 55%)"/>`;
  });
  const lines = Array.from({ length: 16 }, (_, at) => {
    const words = 'Figures of the quarter, by region and day, without returns. '.repeat(3);
    return `<text x="20" y="${40 + at * 18}" font-family="DejaVu Sans" font-size="13" fill="#333">${at} ${words}</text>`;
  });
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    '<linearGradient id="g"><stop stop-color="#f4f6fb"/><stop offset="1" stop-color="#cfe3ff"/></linearGradient>' +
    `<rect width="100%" height="100%" fill="url(#g)"/>${bars.join('')}${lines.join('')}</svg>`;
  return new Uint8Array(await sharp(Buffer.from(svg)).flatten().png().toBuffer());
}
