import { drawingTests } from './drawing.js';
import { longImageEngineTests } from './engine-contract.js';
import { decodeByJimp, decodeBySharp, makeEngine } from './engines.js';

longImageEngineTests('jimp', () => makeEngine('jimp'), decodeBySharp);
longImageEngineTests('sharp', () => makeEngine('sharp'), decodeByJimp);

drawingTests(1000);
