import { supervise } from '../processes/supervise.js';
import { outliveReader } from './closed-pipe.js';

// What launches the commands that serve begins here: the processes below it load all the rest.
for (const stream of [process.stdout, process.stderr]) outliveReader(stream);

supervise({
  async openLog({ logLevel, json }) {
    // Few gateways ever need it.
    const { openJsonLog, openLog } = await import('./open-log.js');
    return json ? openJsonLog(logLevel) : openLog(logLevel, process.stdout);
  },
});
