import { expect } from 'chai';
import {
  type ErrorCode,
  errorTable,
  GatewayError,
  inputError,
  readHandlerError,
  toGatewayError,
} from '../../gateway/errors.js';
import { PoolError } from '../../pool/errors.js';
import { ImageError } from '../../pool/image/engine.js';

const codes = Object.keys(errorTable) as ErrorCode[];

describe('what was thrown in the gateway', () => {
  it('is its own error as it is', () => {
    const error = new GatewayError('exists');
    expect(toGatewayError(error)).to.equal(error);
  });

  it("is the pool's, in the table's words, with the time after which to come back", () => {
    const thrown = new PoolError('busy', 'no place in the pool', { retryAfter: 7 });
    const error = toGatewayError(thrown);
    expect(error).to.include({
      code: 'busy',
      message: errorTable.busy.message,
      retryAfter: 7,
      cause: thrown,
    });
    const exact = { retryAfter: 7, expose: true };
    expect(toGatewayError(new PoolError('busy', 'text/x cannot be loaded', exact))).to.include({
      status: 503,
      message: 'text/x cannot be loaded',
      retryAfter: 7,
    });
    expect(toGatewayError(new PoolError('internal', 'died'))).to.include({ code: 'internal' });
  });

  it("is a picture's, in its own words", () => {
    const error = toGatewayError(new ImageError('bad_image', 'A GIF that is none.'));
    expect(error).to.include({ code: 'bad_image', message: 'A GIF that is none.' });
  });

  it('is a fault for all else, whatever code it bears', () => {
    for (const thrown of [
      undefined,
      null,
      'text',
      new Error('x'),
      { code: 'ECONNRESET' },
      { code: 'exists' },
    ]) {
      expect(toGatewayError(thrown)).to.include({ code: 'internal', cause: thrown });
    }
  });
});

describe('the message of an error', () => {
  const width = { field: 'width', problem: 'must be an integer from 0 to 5000, but is 7.5' };
  const color = { field: 'color', problem: 'is required' };

  it('is the problem where there is one, and that there are some where there are several', () => {
    expect(inputError([width]).message).to.equal('width must be an integer from 0 to 5000, but is 7.5');
    expect(inputError([width, color]).message).to.equal(errorTable.invalid_input.message);
    expect(readHandlerError({ code: 'invalid_input', details: [color] }).message).to.equal(
      'color is required',
    );
  });

  it('names the input where its one problem is of no field', () => {
    const problem = 'must not have a and b together';
    expect(inputError([{ field: '*', problem }]).message).to.equal(`The input ${problem}`);
  });

  it('is what the thrower says of it, and what the table says of any other code', () => {
    expect(new GatewayError('invalid_input', { message: 'Own words.', details: [width] }).message).to.equal(
      'Own words.',
    );
    expect(new GatewayError('source_refused', { details: [width] }).message).to.equal(
      errorTable.source_refused.message,
    );
  });
});

describe('what a handler has thrown', () => {
  const details = [{ field: 'a', problem: 'must be b' }];
  const thrown = (code: string) => ({ code, message: 'own words', details });

  it('says that the input is at fault, or that it took too long, and nothing of the gateway', () => {
    const taken = [...codes, 'result_too_large'].filter(
      (code) => readHandlerError(thrown(code)).code !== 'internal',
    );
    expect(taken).to.deep.equal([
      'invalid_input',
      'bad_image',
      'image_too_large',
      'helper_timeout',
      'result_too_large',
    ]);
    expect(readHandlerError(thrown('result_too_large')).code).to.equal('too_large');
  });

  it('has the author’s words where they are meant to be told, and is a fault where they are not', () => {
    for (const [code, status] of [
      ['not_found', 404],
      ['conflict', 409],
      ['upstream_failed', 502],
    ] as const) {
      expect(readHandlerError({ ...thrown(code), expose: true })).to.include({
        code,
        status,
        message: 'own words',
      });
      expect(readHandlerError(thrown(code))).to.include({ code: 'internal' });
    }
    const long = readHandlerError({ code: 'conflict', message: 'x'.repeat(5000), expose: true });
    expect(long.message).to.have.length(1002);
    const wordless = readHandlerError({ code: 'conflict', message: ' ', expose: true });
    expect(wordless.message).to.equal(errorTable.conflict.message);
  });

  it('is the gateway’s own word where that is what it did not catch', () => {
    const refusal = { code: 'source_refused', message: 'not this one' };
    expect(readHandlerError(thrown('x'), refusal)).to.include({ status: 400, ...refusal });
    expect(readHandlerError(thrown('source_refused'))).to.include({ code: 'internal' });
    expect(readHandlerError(thrown('x'), { code: 'internal', message: 'x' }).message).to.equal(
      errorTable.internal.message,
    );
  });

  it('is told in the words of the table, of the error, or by its details', () => {
    const told = (code: string) => {
      const error = readHandlerError(thrown(code));
      return [error.message === 'own words', error.details !== undefined];
    };
    expect(told('helper_timeout')).to.deep.equal([false, false]);
    expect(told('bad_image')).to.deep.equal([true, false]);
    expect(told('invalid_input')).to.deep.equal([false, true]);
  });

  it('tells of its details what is meant to be told, and no more than a person reads', () => {
    const told = readHandlerError({
      code: 'invalid_input',
      details: [{ field: 'a', problem: 'x'.repeat(5000), stack: 'at home' }],
    });
    expect(told.details).to.deep.equal([{ field: 'a', problem: `${'x'.repeat(1000)} …` }]);
  });

  it('is a fault where its details name no fields', () => {
    for (const bad of [undefined, {}, [null], [{ field: 1, problem: 'x' }]]) {
      expect(readHandlerError({ code: 'invalid_input', details: bad })).to.include({ code: 'internal' });
    }
  });
});
