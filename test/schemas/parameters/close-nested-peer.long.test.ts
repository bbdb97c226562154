import { closeNestedPeerTests } from './close-nested-peer.js';

closeNestedPeerTests(2000);
