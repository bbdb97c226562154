import { supervise } from '../supervisor/supervise.js';
import { ignoreClosedPipe } from './process.js';

// What launches the commands that serve begins here: the processes below it load all the rest.
for (const stream of [process.stdout, process.stderr]) ignoreClosedPipe(stream);

supervise({
  dev: process.argv[2] === 'dev',
  async openLog({ logLevel, json }) {
    // Few gateways ever need it.
    const { openJsonLog, openLog } = await import('../observability/log.js');
    return json ? openJsonLog(logLevel) : openLog(logLevel, process.stdout);
  },
});
