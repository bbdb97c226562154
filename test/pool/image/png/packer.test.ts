import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  filteredAt,
  filterRows,
  filters,
  findPacker,
  inputAt,
  type Packer,
} from '../../../../pool/image/png/strategy.js';
import { toolFile } from '../../../needs.js';

const folder = fileURLToPath(new URL('../../../../../pool/image/png/wasm/', import.meta.url));
const packer = findPacker() as Packer;

describe('packer.wasm', () => {
  it('is what its source is compiled to', function () {
    this.timeout(60_000);
    const compiler = toolFile(this, 'assemblyscript/bin/asc.js');
    const output = mkdtempSync(join(tmpdir(), 'packer-'));
    const options = ['--config', `${folder}asconfig.json`, '--outFile', 'packer.wasm'];
    execFileSync(process.execPath, [compiler, ...options], { cwd: output });
    const built = readFileSync(join(output, 'packer.wasm'));
    rmSync(output, { recursive: true });
    expect(built.equals(readFileSync(`${folder}packer.wasm`)), 'npm run packer').to.equal(true);
  });

  it('has memory that cannot grow', () => {
    expect(() => (packer.memory as WebAssembly.Memory).grow(1)).to.throw(RangeError);
  });
});

const shapes = fc.record({
  rows: fc.integer({ min: 1, max: 4 }),
  width: fc.integer({ min: 1, max: 40 }),
  pixel: fc.constantFrom(3, 4),
});
const rowLists = shapes.chain(({ rows, width, pixel }) => {
  const length = (rows + 1) * width * pixel;
  // Values at the ends are where differences wrap.
  const value = fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 254, 255));
  const bytes = fc.array(value, { minLength: length, maxLength: length });
  return bytes.map((data) => ({ rows, stride: width * pixel, pixel, data: Uint8Array.from(data) }));
});

/** What PNG, section 9, predicts a byte by: the one beside it, the one above and the one beside that. */
const predictors: Record<keyof typeof filters, (a: number, b: number, c: number) => number> = {
  none: () => 0,
  sub: (a) => a,
  up: (_a, b) => b,
  average: (a, b) => (a + b) >> 1,
  paeth(a, b, c) {
    const [pa, pb, pc] = [b - c, a - c, a + b - c - c].map(Math.abs) as [number, number, number];
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
  },
};

describe('the filters of packer.wasm', () => {
  for (const name of Object.keys(predictors) as (keyof typeof filters)[]) {
    const predict = predictors[name];
    it(`predict as the specification says, and as those in JavaScript: ${name}`, () => {
      fc.assert(
        fc.property(rowLists, ({ rows, ...shape }) => {
          const { data, stride, pixel } = shape;
          packer.bytes.set(data, inputAt);
          packer.filter(filters[name], inputAt + stride, inputAt, rows, stride, pixel, pixel, filteredAt);
          const filtered = [...packer.bytes.subarray(filteredAt, filteredAt + rows * (stride + 1))];
          const expected = Array.from({ length: rows }, (_, row) => {
            const at = (i: number, up: number) => (i < 0 ? 0 : (data[(row + 1 - up) * stride + i] as number));
            const bytes = Array.from({ length: stride }, (__, i) => {
              return at(i, 0) - predict(at(i - pixel, 0), at(i, 1), at(i - pixel, 1));
            });
            return [filters[name], ...bytes.map((byte) => byte & 255)];
          });
          expect(filtered).to.deep.equal(expected.flat());
          if (name !== 'none' && name !== 'up') return;
          expect([...filterRows(shape, name, 1, rows)]).to.deep.equal(filtered);
        }),
      );
    });
  }
});
