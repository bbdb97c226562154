import { drawingTests } from './drawing.js';
import { imageEngineTests } from './engine-contract.js';

imageEngineTests('jimp', 'at length');
imageEngineTests('sharp', 'at length');
drawingTests(1000);
