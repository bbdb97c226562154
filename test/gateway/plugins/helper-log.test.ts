import { expect } from 'chai';
import { pino } from 'pino';
import { createHelperLog } from '../../../gateway/plugins/helper-log.js';

describe('what handlers log', () => {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const write = (text: string) => createHelperLog(logger)({ service: 'a', request_id: 'r', text });

  beforeEach(() => lines.splice(0));

  it('is a line of the gateway’s, with the call that it came from', () => {
    write('{"level":40,"service":"forged","time":1,"n":1,"msg":"100%s"}');
    expect(lines[0]).to.include({ level: 40, service: 'a', request_id: 'r', n: 1, msg: '100%s' });
    expect(lines[0]?.time).to.be.above(1);
  });

  it('is info where its level is none', () => {
    write('{"level":35,"a":1}');
    expect(lines[0]).to.include({ level: 30, a: 1 });
  });

  it('may be no JSON without harm', () => {
    write('{"level":30,');
    expect(lines[0]).to.include({
      level: 40,
      service: 'a',
      msg: 'a helper wrote a line that cannot be read',
    });
  });
});
