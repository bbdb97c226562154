import { decodeByJimp, decodeBySharp } from './decoders.js';
import { longImageEngineTests } from './engine-contract.js';
import { makeEngine } from './engines.js';

longImageEngineTests('jimp', () => makeEngine('jimp'), decodeBySharp);
longImageEngineTests('sharp', () => makeEngine('sharp'), decodeByJimp);
