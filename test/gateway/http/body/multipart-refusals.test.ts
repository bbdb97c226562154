import { expect } from 'chai';
import type { GatewayError } from '../../../../gateway/errors.js';
import { rejection } from '../../source/raw-server.js';
import { close, limits, part, read } from './form-body.js';

describe('readMultipart refuses', () => {
  const disposition = 'Content-Disposition: form-data; name="a"';
  const many = (length: number, more = '') =>
    Array.from({ length }, (_, at) => part(`p${at}`, '1', more)).join('') + close;
  const malformed: Record<string, [string, RegExp]> = {
    nothing: ['', /no part was found/],
    nonsense: ['nonsense', /no part was found/],
    'another boundary': [
      part('a', 'x').replace('--b', '--c') + close.replace('--b', '--c'),
      /no part was found/,
    ],
    'a large body of another boundary': [`--c\r\n${'x'.repeat(1_000_000)}`, /no part was found/],
    'a long preamble': [`${'x'.repeat(70_000)}\r\n${part('a', 'x')}`, /no part was found/],
    'a body that breaks off in a value': [part('a', 'x'), /breaks off/],
    'a body that breaks off in a header': [`${part('a', 'x')}--b\r\nContent-`, /breaks off/],
    'a body that breaks off in its last boundary': [`${part('a', 'x')}--b-`, /breaks off/],
    'a part without headers': [`--b\r\n\r\nx\r\n${close}`, /Content-Disposition/],
    'a part without a disposition': [`--b\r\nX: y\r\n\r\nx\r\n${close}`, /Content-Disposition/],
    'a part without a name': [
      `--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n${close}`,
      /Content-Disposition/,
    ],
    'an attachment': [
      `--b\r\nContent-Disposition: attachment; name="a"\r\n\r\nx\r\n${close}`,
      /Content-Disposition/,
    ],
    'a name without its end': [
      `--b\r\nContent-Disposition: form-data; name="a\r\n\r\nx\r\n${close}`,
      /Content-Disposition/,
    ],
    'two dispositions': [`--b\r\n${disposition}\r\n${disposition}\r\n\r\nx\r\n${close}`, /header twice/],
    'a line that is no header': [`--b\r\nx\r\n${disposition}\r\n\r\nx\r\n${close}`, /malformed header/],
    'a bare line feed in a header': [`--b\r\n${disposition}\nX: y\r\n\r\nx\r\n${close}`, /malformed header/],
    'more behind a boundary': [`${part('a', 'x')}--bc\r\n${disposition}\r\n\r\nx\r\n${close}`, /not alone/],
    'a header of 9 KB': [part('a', 'x', `\r\nX: ${'y'.repeat(9000)}`) + close, /8192 bytes/],
    'a header of quotes': [part('a', 'x', `; ${'filename="'.repeat(40_000)}`) + close, /8192 bytes/],
    'a header without an end': [`--b\r\nX: ${'y'.repeat(1_000_000)}`, /8192 bytes/],
    '101 text fields': [many(101), /^must not hold more than 100 text fields$/],
    '3 files': [many(3, '; filename="x"'), /^must not be a file/],
  };
  for (const [name, [body, problem]] of Object.entries(malformed)) {
    it(name, async () => {
      const error = await rejection(read(body));
      expect(error.code).to.equal('invalid_input');
      expect((error as GatewayError).details?.[0]?.problem).to.match(problem);
    });
  }

  const tooLarge: Record<string, string> = {
    'a file past the limit': part('file', 'x'.repeat(limits.maxFileBytes + 1), '; filename="x"'),
    'two files past the limit together': part('file', 'x'.repeat(1_500_000), '; filename="x"').repeat(2),
    'a text past the limit': part('a', 'x'.repeat(limits.maxTextBytes + 1)),
    'texts past the limit together': part('a', 'x'.repeat(6000)) + part('c', 'x'.repeat(6000)),
    'a long epilogue': `${part('a', 'x') + close}${'x'.repeat(70_000)}`,
    'many long headers': Array.from({ length: 10 }, (_, at) =>
      part(`p${at}`, 'x', `; x="${'y'.repeat(8000)}"`),
    ).join(''),
  };
  for (const [name, body] of Object.entries(tooLarge)) {
    it(`${name}, with the limits`, async () => {
      const error = await rejection(read(body));
      expect(error)
        .to.include({ code: 'too_large' })
        .and.have.property('message')
        .that.matches(/2000000.*10000/);
    });
  }
});
