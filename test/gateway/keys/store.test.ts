import { onEachDatabase } from '../databases.js';
import { keyStoreTests } from './key-store-contract.js';

describe('keys/sql-store', () => onEachDatabase(keyStoreTests, { ownThread: true }));
