import { expect } from 'chai';
import { type Call, CallState, from } from '../../../gateway/pipeline/stage.js';
import { type Answer, jsonAnswer } from '../../../pool/answer.js';

describe('stages', () => {
  const answer = jsonAnswer({});
  const call: Call = {
    state: new CallState('r'),
    bodyBytes: 0,
  };

  it('each get what those before have found, and answer back through them', async () => {
    const way: string[] = [];
    const run = from<Call>()
      .through<{ a: number }>(async ({ state }, next) => {
        way.push(`first ${state.requestId}`);
        const given = await next({ a: 1 });
        way.push('first again');
        return given;
      })
      .through<{ b: number }>(({ a }, next) => {
        way.push(`second ${a}`);
        return next({ b: a + 1 });
      })
      .to(async ({ a, b }): Promise<Answer> => {
        way.push(`last ${a} ${b}`);
        return answer;
      });
    expect(await run(call)).to.equal(answer);
    expect(way).to.deep.equal(['first r', 'second 1', 'last 1 2', 'first again']);
  });

  it('keep calls apart', async () => {
    const seen: number[] = [];
    const run = from<Call & { n: number }>()
      .through<{ twice: number }>(async ({ n }, next) => {
        await new Promise((resolve) => setTimeout(resolve, 10 - n));
        return next({ twice: 2 * n });
      })
      .to(async ({ n, twice }) => {
        seen.push(twice - n);
        return answer;
      });
    await Promise.all([1, 2, 3].map((n) => run({ ...call, n })));
    expect(seen.sort()).to.deep.equal([1, 2, 3]);
  });

  it('do not look for a trace where none is kept', async () => {
    const state = Object.defineProperty(new CallState('r'), 'trace', {
      get: () => expect.fail('looked for'),
    });
    const run = from<Call>()
      .through<object>(function first(_, next) {
        return next({});
      })
      .to(async function last() {
        return answer;
      });
    expect(await run({ bodyBytes: 0, state })).to.equal(answer);
  });

  it('end with the first that throws', async () => {
    const run = from<Call>()
      .through(async () => {
        throw new Error('refused');
      })
      .to(async () => answer);
    const error = await Promise.resolve(run(call)).catch((thrown: Error) => thrown);
    expect(error).to.be.an('error').with.property('message', 'refused');
  });
});
