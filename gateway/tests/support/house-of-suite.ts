import { type House, type HouseOptions, openHouse } from './house.ts';

/** A house that opens before the tests of the suite it is called in, and closes after them. */
export function houseOfSuite(options: HouseOptions = {}): House {
  const house = {} as House;
  beforeAll(async () => {
    Object.assign(house, await openHouse(options));
  });
  afterAll(() => house.close());
  return house;
}
