import { expect } from 'chai';
import fc from 'fast-check';
import { h } from 'preact';
import { render } from 'preact-render-to-string';
import { formatDuration } from '../../../../gateway/site/pages/elements.js';
import { niceCeiling, UsageChart } from '../../../../gateway/site/pages/usage.js';

const row = (day: string, service: string, calls: number) => ({
  day,
  key: 'key_1',
  service,
  calls,
  errors: 0,
  bytes_in: 0,
  bytes_out: 0,
  cpu_ms: 0,
});

describe('site/pages: the usage chart', () => {
  it('ends its axis at 1, 2 or 5 times a power of ten, not below the peak and not far above it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e12 }), (peak) => {
        const top = niceCeiling(peak);
        expect(top)
          .to.be.at.least(peak)
          .and.at.most(Math.max(2, peak * 2.5));
        expect(String(top)).to.match(/^[125]0*$/);
      }),
    );
  });

  it('adds up the keys of a helper and stacks the helpers, without a style in it', () => {
    const rows = [row('2030-01-02', 'b', 5), row('2030-01-02', 'a', 3), row('2030-01-02', 'a', 2)];
    const svg = render(h(UsageChart, { rows, days: ['2030-01-01', '2030-01-02'] }));
    const bars = [
      ...svg.matchAll(/<rect class="series-(\d)" x="([\d.]+)" y="([\d.]+)"[^>]* height="([\d.]+)"/g),
    ];
    expect(bars).to.have.length(2);
    const [a, b] = bars.map(([, series, x, y, height]) => ({
      series,
      x,
      y: Number(y),
      height: Number(height),
    }));
    expect(a?.height).to.equal(b?.height);
    expect(a?.x).to.equal(b?.x);
    expect((b?.y ?? 0) + (b?.height ?? 0)).to.equal(a?.y);
    expect(svg).to.include('<title>2030-01-02 a: 5</title>').and.not.to.include('style=');
  });

  it('escapes whatever a helper is called', () => {
    const svg = render(
      h(UsageChart, { rows: [row('2030-01-01', '<img onerror="x">', 1)], days: ['2030-01-01'] }),
    );
    expect(svg).not.to.include('<img');
  });

  it('has colours for many helpers', () => {
    const rows = Array.from({ length: 30 }, (_, n) => row('2030-01-01', `helper-${n + 10}`, 1));
    const svg = render(h(UsageChart, { rows, days: ['2030-01-01'] }));
    expect(svg).to.include('series-7').and.not.to.include('series-8');
  });
});

describe('site: times', () => {
  for (const [ms, text] of [
    [0, '0 ms'],
    [43.4, '43 ms'],
    [999.6, '1.0 s'],
    [1250, '1.3 s'],
    [3_600_000, '3,600.0 s'],
  ] as const) {
    it(`writes ${ms} ms as ${text}`, () => expect(formatDuration(ms)).to.equal(text));
  }
});
