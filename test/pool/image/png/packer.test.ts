import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  type FilterName,
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
    execFileSync(
      process.execPath,
      [compiler, '--config', `${folder}asconfig.json`, '--outFile', 'packer.wasm'],
      { cwd: output },
    );
    const built = readFileSync(join(output, 'packer.wasm'));
    rmSync(output, { recursive: true });
    expect(built.equals(readFileSync(`${folder}packer.wasm`)), 'npm run packer').to.equal(true);
  });

  it('has memory that cannot grow', () => {
    expect(() => (packer.memory as WebAssembly.Memory).grow(1)).to.throw(RangeError);
  });
});

const rowLists = fc
  .record({
    rows: fc.integer({ min: 1, max: 4 }),
    width: fc.integer({ min: 1, max: 40 }),
    pixel: fc.constantFrom(3, 4),
  })
  .chain(({ rows, width, pixel }) => {
    const length = (rows + 1) * width * pixel;
    // Values at the ends are where differences wrap.
    const value = fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 254, 255));
    return fc
      .array(value, { minLength: length, maxLength: length })
      .map((data) => ({ rows, stride: width * pixel, pixel, data: Uint8Array.from(data) }));
  });

describe('the filters of packer.wasm', () => {
  for (const name of ['none', 'sub', 'up', 'average'] as FilterName[]) {
    it(`give what those in JavaScript give: ${name}`, () => {
      fc.assert(
        fc.property(rowLists, ({ rows, ...shape }) => {
          const expected = filterRows(shape, name, 1, rows);
          expect([...filterByPacker(shape, rows, filters[name])]).to.deep.equal([...expected]);
        }),
      );
    });
  }

  it('predict as the specification says: paeth', () => {
    fc.assert(
      fc.property(rowLists, ({ rows, ...shape }) => {
        expect([...filterByPacker(shape, rows, filters.paeth)]).to.deep.equal(paethRows(shape, rows));
      }),
    );
  });
});

interface Rows {
  data: Uint8Array;
  stride: number;
  pixel: number;
}

function filterByPacker({ data, stride, pixel }: Rows, rows: number, kind: number): Uint8Array {
  packer.bytes.set(data, inputAt);
  packer.filter(kind, inputAt + stride, inputAt, rows, stride, pixel, pixel, filteredAt);
  return packer.bytes.slice(filteredAt, filteredAt + rows * (stride + 1));
}

/** PNG, section 9.4, word for word. */
function paethRows({ data, stride, pixel }: Rows, rows: number): number[] {
  const out: number[] = [];
  for (let row = 1; row <= rows; row++) {
    out.push(filters.paeth);
    for (let i = 0; i < stride; i++) {
      const at = row * stride + i;
      const a = i < pixel ? 0 : (data[at - pixel] as number);
      const b = data[at - stride] as number;
      const c = i < pixel ? 0 : (data[at - stride - pixel] as number);
      const p = a + b - c;
      const [pa, pb, pc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
      const predicted = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      out.push(((data[at] as number) - predicted) & 255);
    }
  }
  return out;
}
