import { drawingTests } from './drawing.js';

drawingTests(60);
