import { after, before } from 'node:test';
import { type House, type HouseOptions, openHouse } from './house.ts';

/** A house that opens before the tests of the suite it is called in, and closes after them. */
export function houseOfSuite(options: HouseOptions = {}): House {
  const house = {} as House;
  before(async () => {
    Object.assign(house, await openHouse(options));
  });
  after(() => house.close());
  return house;
}
