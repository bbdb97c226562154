import { drawingTests } from './drawing.js';

drawingTests(1000);
