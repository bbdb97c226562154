import { lateCompileTests } from './late-compile.js';

lateCompileTests(2000);
