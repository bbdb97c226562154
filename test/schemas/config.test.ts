import { expect } from 'chai';
import fc from 'fast-check';
import { type Variable, variables } from '../../schemas/config/config.js';
import {
  address,
  bytes,
  count,
  type Form,
  folders,
  integer,
  origins,
  originsOrAll,
  paths,
  share,
} from '../../schemas/config/forms.js';
import { anyCharacter } from '../examples.js';
import { readText } from '../readme.js';

describe('forms of variables', () => {
  const redis = 'rediss://:secret@host:6379/1';
  for (const [what, form, right, wrong] of [
    [
      'sizes in bytes and in units of 1024',
      bytes({ max: 1024 ** 3, such: '1GB' }),
      {
        ...{ '10485760': 10485760, '10MB': 10485760, '10 mib': 10485760, '512KB': 524288, '1.5MB': 1572864 },
        ...{ '7B': 7, '1GB': 1024 ** 3 },
      },
      ['', '10M', 'MB', '-1', '1e3', '10  MB', '10XB', '0', '1.1GB'],
    ],
    [
      'counts in thousands',
      count({ min: 250, max: 1e9 }),
      { '40M': 40e6, '40 M': 40e6, '250': 250, '1.5k': 1500, '1G': 1e9 },
      ['', 'M', '40MB', '-1', '249', '1.1G'],
    ],
    [
      'plain whole numbers only',
      integer({ min: 0, max: 8080 }),
      { '0': 0, '8080': 8080 },
      ['-1', '1e3', '0x10', 'Infinity', '8080 ', '', '0.5', '8081'],
    ],
    ['a share, but not of nothing', share, { '0.5': 0.5, '1': 1 }, ['0', '1.1', '.5', '50%']],
    [
      'origins as URL writes them',
      origins,
      {
        'http://127.0.0.1:9100, HTTPS://A.Example:443/': ['http://127.0.0.1:9100', 'https://a.example'],
        'http://[::1]:9100': ['http://[::1]:9100'],
      },
      [
        ...['http://a/b', 'http://a?b', 'http://a#b', 'http://u:p@a', 'ftp://a', 'a.example', 'http://', '*'],
        ...['http://a\\b', 'http://a b', 'http://a\tb', 'http://a:99999', 'http://ok.example,nonsense'],
      ],
    ],
    ['all origins', originsOrAll, { '*': ['*'] }, ['https://a.example,*']],
    ['paths between colons', paths('files'), { '/a:b/c::/d': ['/a', 'b/c', '/d'] }, []],
    ['folders, each once', folders, { '/a:/b/../a::/d/': ['/a', '/d'] }, []],
    [
      'addresses with the right scheme',
      address('redis', 'rediss'),
      { [redis]: redis },
      ['http://host', 'redis:host', 'redis://ho st', 'redis://'],
    ],
  ] as [string, Form<unknown>, Record<string, unknown>, string[]][]) {
    it(`read ${what}, and never throw`, () => {
      for (const [text, value] of Object.entries(right)) expect(form.read(text), text).to.deep.equal(value);
      for (const text of wrong) expect(form.read(text), text).to.equal(undefined);
      const text = fc.string({ unit: anyCharacter });
      fc.assert(fc.property(text, (text) => void [form.read(text), form.read(`http://${text}`)]));
    });
  }
});

describe('the README of the variables', () => {
  const readme = readText('schemas/config/README.md');
  const rowsIn = (text: string) => text.split('\n').filter((line) => line.startsWith('| `'));

  /** A variable's row, made from all that is said about it. */
  function rowOf({ name, default: preset, description, form }: Variable): string {
    const value = typeof preset === 'object' ? preset.shown : preset ? `\`${preset}\`` : '–';
    return `| \`${name}\` | ${value} | ${description} | ${form.wanted} |`;
  }

  const titles = [...new Set(variables.map(({ section }) => section))];
  for (const title of titles) {
    it(`has the right rows under "${title}"`, () => {
      const rows = variables.filter(({ section }) => section === title).map(rowOf);
      const [below = ''] = (readme.split(`\n## ${title}\n`)[1] ?? '').split('\n## ');
      expect(rowsIn(below), `the right rows are:\n\n${rows.join('\n')}\n\n`).to.deep.equal(rows);
    });
  }

  it('has no other row', () => expect(rowsIn(readme)).to.have.length(variables.length));
});
